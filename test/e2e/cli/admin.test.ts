import { once } from 'node:events';
import http from 'node:http';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { hedgerow, type Program } from '../../support/program.js';
import { type RawBackend, startRawBackend } from '../../support/raw-peer.js';

let backends: RawBackend[] = [];
afterEach(async () => {
  await Promise.all(backends.map((backend) => backend.close()));
  backends = [];
});

async function backend(port = 0): Promise<RawBackend> {
  const made = await startRawBackend({ port });
  backends.push(made);
  return made;
}

function start(flags: readonly string[], files: Record<string, string> = {}): Promise<Program> {
  return hedgerow(['serve', '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', ...flags], { files });
}

/** The status of a request with exactly these headers. */
async function ask(
  at: { host: string; port: number } | { socketPath: string },
  method: string,
  url: string,
  headers: Record<string, string>,
): Promise<number | undefined> {
  const request = http.request({ ...at, method, path: url, headers, agent: false }).end();
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  response.resume();
  return response.statusCode;
}

function place(address: string): { host: string; port: number } {
  const [host = '', port] = address.split(':');
  return { host, port: Number(port) };
}

describe('/readyz on the program', () => {
  it('is 503 until a backend connects, 200 while one is, 503 when all are lost, 200 when one is back', async () => {
    const holder = await backend();
    const { port } = holder;
    await holder.close();
    const program = await start(['--backend', `b1=127.0.0.1:${port}`, '--connect-backoff-max', '10ms']);
    const url = `http://${await program.admin()}/readyz`;
    await program.line(({ event }) => event === 'connect_failed');
    expect((await fetch(url)).status).toBe(503);

    const second = await backend(port);
    await program.line(({ event }) => event === 'connected');
    expect((await fetch(url)).status).toBe(200);

    await second.stopListening();
    second.kill();
    await program.line(({ event }) => event === 'lost');
    expect((await fetch(url)).status).toBe(503);
    const rows = (await (await fetch(url.replace('readyz', 'backends'))).json()) as { backends: unknown[] };
    expect(rows.backends).toEqual([
      expect.objectContaining({ name: 'b1', state: expect.stringMatching(/down|connecting/) }),
    ]);
    await second.close();

    await backend(port);
    await program.line(({ event, generation }) => event === 'connected' && generation === 2);
    expect((await fetch(url)).status).toBe(200);
  });
});

describe('the flags of the admin listener', () => {
  it('--admin-host: other names are refused', async () => {
    const program = await start(['--admin-host', 'ops.example', '--backend', 'b1=127.0.0.1:9']);
    const at = place(await program.admin());
    expect(await ask(at, 'GET', '/healthz', { host: 'evil.example' })).toBe(421);
    expect(await ask(at, 'GET', '/healthz', { host: 'ops.example' })).toBe(200);
  });

  it('--admin-token-file: beyond loopback a POST needs the token, which no log shows', async () => {
    const flags = ['--admin', '0.0.0.0:0', '--admin-token-file', 't', '--backend', 'b1=127.0.0.1:9'];
    const program = await hedgerow(['serve', '--listen', '127.0.0.1:0', ...flags], { files: { t: 'a-secret\n' } });
    const at = { ...place(await program.admin()), host: '127.0.0.1' };
    const post = async (authorization: string): Promise<number | undefined> =>
      await ask(at, 'POST', '/healthz', { host: 'localhost', authorization });
    // 405 is the endpoint's own answer: the door was passed.
    expect(await post('Bearer a-secret')).toBe(405);
    expect(await post('Bearer a-secret2')).toBe(401);
    expect(await post('')).toBe(401);
    expect(await ask(at, 'GET', '/healthz', { host: 'localhost' })).toBe(200);
    program.signal('SIGTERM');
    await program.exited();
    expect(program.out + program.err).not.toContain('a-secret');
  });

  it('--admin unix:PATH answers whatever the Host', async () => {
    const flags = ['--admin', 'unix:a.sock', '--backend', 'b1=127.0.0.1:9'];
    const program = await hedgerow(['serve', '--listen', '127.0.0.1:0', ...flags]);
    await program.line('ready');
    const socketPath = path.join(program.directory, 'a.sock');
    expect(await ask({ socketPath }, 'GET', '/healthz', { host: 'anything' })).toBe(200);
  });
});
