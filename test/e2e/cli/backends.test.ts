import { readFile, rename, writeFile } from 'node:fs/promises';
import http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { startDns } from '../../support/dns-server.js';
import { type LogLine, type Program, ran, serve } from '../../support/program.js';
import { connectRawClient, type RawBackend, startRawBackend } from '../../support/raw-peer.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function backend(): Promise<RawBackend> {
  const started = await startRawBackend();
  cleanups.push(() => started.close());
  return started;
}

const file = (...backends: readonly object[]): string => JSON.stringify({ backends });
const saying = (part: string) => (line: LogLine) => String(line['msg']).includes(part);

/** As careful writers do. */
async function put(program: Program, text: string): Promise<void> {
  await writeFile(path.join(program.directory, 'new'), text);
  await rename(path.join(program.directory, 'new'), path.join(program.directory, 'endpoints.json'));
}

/** The trailers of one call. */
async function call(
  program: Program,
  headers: readonly (readonly [string, string])[] = [],
): Promise<readonly string[]> {
  const client = await connectRawClient(await program.port());
  try {
    const made = await client.call('/a.B/C', { headers }).done();
    return ['grpc-status', 'hedgerow-backend', 'hedgerow-stop-reason'].map((name) => made.trailer(name) ?? '');
  } finally {
    client.kill();
  }
}

describe('serve with backends by name', () => {
  it('FND-03: a group answers under its name, and pins mean the group or a member', async () => {
    const { port } = await backend();
    const dns = await startDns();
    dns.set('orders.test', ['127.0.0.1']);
    const program = await serve(['--backend', `orders=dns://${dns.authority}/orders.test:${port}`]);
    await program.line(({ event, backend: id }) => event === 'connected' && id === `orders/127.0.0.1:${port}`);
    expect(await call(program)).toEqual(['0', 'orders', '']);
    for (const pin of ['orders', `orders/127.0.0.1:${port}`]) {
      expect(await call(program, [['hedgerow-pin', pin]])).toEqual(['0', 'orders', '']);
    }
    expect(await call(program, [['hedgerow-pin', 'orders/127.0.0.9:1']])).toEqual(['14', '', 'pin_unknown']);
  });

  it('FND-08: a name that cannot be resolved is told, and found when it can', async () => {
    const { port } = await backend();
    const dns = await startDns();
    const program = await serve(['--backend', `orders=dns://${dns.authority}/orders.test:${port}`]);
    await program.line(saying('cannot be resolved: no such name; it has no members yet'));
    dns.set('orders.test', ['127.0.0.1']);
    await program.line(saying('is resolved again'));
    await program.line(({ event }) => event === 'connected');
    expect(await call(program)).toEqual(['0', 'orders', '']);
  });
});

describe('serve with backends by name over TLS', () => {
  it('FND-14: checks a certificate for the name, whatever address it leads to', async () => {
    const pem = (name: string) => readFile(new URL(`../../support/tls/${name}`, import.meta.url), 'utf8');
    const cert = await pem('localhost.crt');
    // The certificate says localhost and 127.0.0.1.
    const server = http2.createSecureServer({ cert, key: await pem('localhost.key') });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.2', resolve));
    cleanups.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    const dns = await startDns();
    dns.set('localhost', ['127.0.0.2']);
    dns.set('elsewhere.test', ['127.0.0.2']);
    const program = await serve(
      [
        ...['--backend', `right=dns://${dns.authority}/localhost:${port}`],
        ...['--backend', `wrong=dns://${dns.authority}/elsewhere.test:${port}`],
        ...['--backend', `bare=127.0.0.2:${port}`, '--backend-tls', '--backend-ca', 'ca.crt'],
      ],
      { files: { 'ca.crt': cert } },
    );
    const outcome = (id: string) => program.line((line) => line['backend'] === id && line['event'] !== undefined);
    expect((await outcome(`right/127.0.0.2:${port}`))['event']).toBe('connected');
    for (const id of [`wrong/127.0.0.2:${port}`, 'bare']) {
      expect((await outcome(id))['event'], id).toBe('connect_failed');
    }
    expect(dns.count('localhost')).toBeGreaterThan(0);
  });
});

describe('serve with an endpoints file', () => {
  it('FND-20, FND-22, FND-23: follows it, and a broken one changes nothing', async () => {
    const [first, second] = [await backend(), await backend()];
    const one = { name: 'one', target: first.address };
    const program = await serve(['--endpoints', 'endpoints.json'], { files: { 'endpoints.json': file(one) } });
    expect((await program.line('ready'))['backends']).toBe(1);
    await program.line(({ event }) => event === 'connected');
    expect(await call(program)).toEqual(['0', 'one', '']);

    await put(program, file({ name: 'two', target: second.address }));
    await program.line(saying('backends: added two; removed one'));
    await program.line(({ event, backend: id }) => event === 'connected' && id === 'two');
    expect(await call(program)).toEqual(['0', 'two', '']);

    await put(program, '{"backends": [{"name": "three"}]}');
    program.signal('SIGHUP');
    await program.line(saying('backends[0].target: missing; must be a string'));
    expect(await call(program)).toEqual(['0', 'two', '']);
  });

  it.each([
    [
      '{"backends": [{"name": "b1", "target": "10.0.0.7"}]}',
      1,
      'endpoints.json:1:40: backends[0].target: "10.0.0.7" has no port',
    ],
    [null, 2, '--endpoints endpoints.json: no such file'],
  ])('FND-24: %j at the start', async (text, code, words) => {
    const files: Record<string, string> = text === null ? {} : { 'endpoints.json': text };
    const args = ['serve', '--listen', '127.0.0.1:0', '--admin', 'off', '--endpoints', 'endpoints.json'];
    const result = await ran(args, { files });
    expect(result).toMatchObject({ code, out: '' });
    expect(result.err).toContain(words);
    expect(result.err.trimEnd().split('\n')).toHaveLength(1);
  });
});
