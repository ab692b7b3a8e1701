import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { ConfigView, ReloadReport } from '../../../src/admin/program.js';
import { hedgerow, type Program } from '../../support/program.js';
import { behave, connectRawClient, type RawBackend, type RawClient, startRawBackend } from '../../support/raw-peer.js';
import { retry } from '../../support/rig.js';
import { certificate, privateKey } from '../../support/tls.js';

let ends: (() => void | Promise<void>)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  ends = [];
});

const thrice = JSON.stringify(retry({ attempts: 3 }));
const twice = JSON.stringify(retry({ attempts: 2 }));
const broken = '{"methodConfig": [{"name": [{}], "timeout": "1m"}]}';
const file = 'service-config.json';

interface Running {
  readonly program: Program;
  readonly backend: RawBackend;
  get(url: string): Promise<{ readonly status: number; readonly body: unknown }>;
  post(url: string): Promise<{ readonly status: number; readonly body: unknown }>;
  write(name: string, text: string): Promise<void>;
}

async function start(flags: readonly string[] = [], files: Record<string, string> = {}): Promise<Running> {
  const backend = await startRawBackend();
  ends.push(() => backend.close());
  const program = await hedgerow(
    ['serve', '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--backend', `b=${backend.address}`, ...flags],
    { files: { [file]: thrice, ...files } },
  );
  await program.line(({ event }) => event === 'connected');
  const ask = async (method: string, url: string) => {
    const answer = await fetch(`http://${await program.admin()}${url}`, { method });
    return { status: answer.status, body: await answer.json() };
  };
  return {
    program,
    backend,
    get: (url) => ask('GET', url),
    post: (url) => ask('POST', url),
    write: (name, text) => writeFile(path.join(program.directory, name), text),
  };
}

async function config({ get }: Running): Promise<ConfigView> {
  const { status, body } = await get('/config');
  expect(status).toBe(200);
  return body as ConfigView;
}

async function connect(program: Program): Promise<RawClient> {
  const client = await connectRawClient(await program.port());
  ends.push(() => client.kill());
  return client;
}

async function attempts({ backend, program }: Running): Promise<number> {
  const client = await connect(program);
  const before = backend.streams.length;
  await client.call('/a.B/C', { messages: ['1'] }).done();
  return backend.streams.length - before;
}

describe('POST /reload on the program', () => {
  it('ADM-25, ADM-22: a good config is in force when the answer comes, and /config tells it', async () => {
    const running = await start();
    running.backend.behave(behave.fail(14));
    const before = (await config(running)).service_config;
    expect(before).toMatchObject({ path: `./${file}`, methods: 1, content: JSON.parse(thrice), problem: null });
    expect(await attempts(running)).toBe(3);
    await running.write(file, twice);
    const { status, body } = await running.post('/reload');
    expect(status).toBe(200);
    const { service_config: reloaded } = body as ReloadReport;
    // What watches the file may have read it first.
    expect(['applied', 'unchanged']).toContain(reloaded.outcome);
    expect(await attempts(running)).toBe(2);
    const { service_config: after } = await config(running);
    expect(after).toMatchObject({ version: reloaded.version, content: JSON.parse(twice), rejected: null });
    expect(after.version).not.toBe(before.version);
    expect(after.applied_at).toBeGreaterThan(before.applied_at);
    expect(Math.abs(after.applied_at - Date.now())).toBeLessThan(60_000);
    const asked = await running.program.line(({ event, action }) => event === 'admin' && action === 'reload');
    expect(asked['peer']).toMatch(/^127\.0\.0\.1:\d+$/);
  });

  it('ADM-26, ADM-22: a bad one is 422, stays out of force, and /config has its findings', async () => {
    const running = await start();
    const { service_config: before } = await config(running);
    await running.write(file, broken);
    const { status, body } = await running.post('/reload');
    expect(status).toBe(422);
    const problem = expect.stringMatching(/^\.\/service-config\.json:1:45: error: methodConfig\[0\]\.timeout: /);
    expect(body).toMatchObject({ service_config: { outcome: 'rejected', problem, version: before.version } });
    const { service_config: after } = await config(running);
    expect(after).toMatchObject({ version: before.version, applied_at: before.applied_at, problem });
    expect(after.rejected).toMatchObject({
      version: expect.stringMatching(/^[0-9a-f]{12}$/),
      findings: [
        {
          file: `./${file}`,
          line: 1,
          column: 45,
          severity: 'error',
          path: 'methodConfig[0].timeout',
          rule: 'bad-duration',
        },
      ],
    });

    // Well again: it is no trouble any more, and the last refusal is remembered.
    await running.write(file, thrice);
    expect((await running.post('/reload')).status).toBe(200);
    expect((await config(running)).service_config).toMatchObject({ problem: null, rejected: after.rejected });
  });

  it('ADM-26, ADM-23: each file counts for itself, and no key is told', async () => {
    const flags = ['--tls-cert', 'server.crt', '--tls-key', 'server.key', '--endpoints', 'e.json'];
    const files = {
      'server.crt': certificate('server'),
      'server.key': privateKey('server'),
      'e.json': endpoints(['n1']),
    };
    const running = await start(flags, files);
    const at = await config(running);
    expect(at.client_tls).toMatchObject({
      paths: { tlsCert: 'server.crt', tlsKey: 'server.key' },
      outcome: 'applied',
      problem: null,
    });
    expect(at.endpoints).toMatchObject({ paths: { endpoints: 'e.json' }, outcome: 'applied' });
    expect(at.backend_tls).toBeNull();
    expect(at.settings['tlsKey']).toEqual({ value: 'server.key', source: 'flag' });

    await running.write('server.key', 'no key');
    await running.write('e.json', endpoints(['n1', 'n2']));
    const { status, body } = await running.post('/reload');
    expect(status).toBe(422);
    expect(body).toMatchObject({
      service_config: { outcome: 'unchanged', problem: null },
      client_tls: { outcome: 'rejected', problem: expect.stringContaining('server.key') },
      backend_tls: null,
    });
    const after = await config(running);
    expect(after.client_tls).toMatchObject({
      outcome: 'rejected',
      problem: expect.stringContaining('server.key'),
      applied_at: at.client_tls?.applied_at,
    });
    const { backends } = (await running.get('/backends')).body as { backends: { name: string }[] };
    expect(backends.map(({ name }) => name)).toEqual(['b', 'n1', 'n2']);
    for (const line of privateKey('server').split('\n').slice(1, 3)) expect(JSON.stringify(after)).not.toContain(line);
  });

  it('ADM-25: names of backends are resolved again', async () => {
    const running = await start(['--backend', 'g=dns:///localhost:9']);
    expect(await running.post('/reload')).toMatchObject({
      status: 200,
      body: { names: [{ backend: 'g', target: 'dns:///localhost:9', outcome: 'unchanged', problem: null }] },
    });
  });

  it('ADM-25: without a service config there is nothing to reject', async () => {
    const backend = await startRawBackend();
    ends.push(() => backend.close());
    const flags = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--backend', `b=${backend.address}`];
    const program = await hedgerow(['serve', ...flags]);
    const answer = await fetch(`http://${await program.admin()}/reload`, { method: 'POST' });
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ service_config: { outcome: 'unchanged', problem: null } });
  });
});

/** Endpoints at which nobody listens. */
function endpoints(names: readonly string[]): string {
  return JSON.stringify({ backends: names.map((name) => ({ name, target: 'unix:nobody.sock' })) });
}

describe('POST /drain on the program', () => {
  const staying = 'the process stays until SIGTERM or SIGINT';

  it('ADM-28, ADM-30, ADM-29: calls in flight finish, new ones find nobody, and the process stays until the signal', async () => {
    const running = await start();
    const { program, backend, get, post } = running;
    backend.behave(behave.silent);
    const client = await connect(program);
    const call = client.call('/a.B/C', { messages: ['1'] });
    const attempt = await backend.waitForStream(1);
    expect(await post('/drain')).toEqual({
      status: 202,
      body: { status: 'draining', message: `draining, at most 30000 ms; ${staying}` },
    });
    expect(await client.whenGoaway(0)).toMatchObject({ lastStreamId: 2 ** 31 - 1, code: 0 });
    expect(await get('/readyz')).toEqual({ status: 503, body: { status: 'draining' } });
    expect((await post('/drain')).body).toEqual({ status: 'draining', message: 'already draining' });
    expect((await post('/reload')).status).toBe(409);
    await expect(connectRawClient(await program.port())).rejects.toThrow('ECONNREFUSED');

    // Its retry goes on, as in any drain.
    backend.behave(behave.ok('late'));
    attempt.trailersOnly(14);
    await call.done();
    expect([call.status, call.messages.map(String)]).toEqual([0, ['late']]);
    await client.whenClosed();
    await program.line(`drained; ${staying}`);
    expect(await post('/drain')).toEqual({ status: 200, body: { status: 'drained', message: 'already drained' } });
    expect((await get('/live')).body).toMatchObject({ draining: true, drained: true });
    expect((await get('/healthz')).status).toBe(200);
    expect((await get('/config')).status).toBe(200);
    expect(program.ended).toBe(false);

    program.signal('SIGTERM');
    expect(await program.exited()).toBe(0);
    const said = program.lines.map(({ msg }) => String(msg));
    expect(said.filter((msg) => /drain/.test(msg) && !/admin|asked for/.test(msg))).toEqual([
      'draining, at most 30000 ms',
      `drained; ${staying}`,
      'SIGTERM: drained before, the process ends',
    ]);
    expect(program.lines).toContainEqual(
      expect.objectContaining({ event: 'admin', action: 'drain', peer: expect.stringMatching(/^127\.0\.0\.1:/) }),
    );
    expect(program.err).toBe('');
  });

  it('ADM-29: the signal in the middle of it waits for the calls, and the process ends with them', async () => {
    const { program, backend, post } = await start();
    backend.behave(behave.silent);
    const client = await connect(program);
    const call = client.call('/a.B/C', { messages: ['1'] });
    const attempt = await backend.waitForStream(1);
    await post('/drain');
    program.signal('SIGTERM');
    await program.line('SIGTERM: draining already, the process ends when that is over');
    expect(program.ended).toBe(false);
    await attempt.answer(['done']);
    expect((await call.done()).status).toBe(0);
    expect(await program.exited()).toBe(0);
    expect(client.goaways).toHaveLength(2);
    expect(program.lines.at(-1)).toMatchObject({ msg: 'drained' });
  });

  it('ADM-29: a second signal ends it at once', async () => {
    const { program, backend, post } = await start();
    backend.behave(behave.silent);
    const client = await connect(program);
    client.call('/a.B/C', { messages: ['1'] });
    await backend.waitForStream(1);
    await post('/drain');
    program.signal('SIGTERM');
    await program.line('SIGTERM: draining already, the process ends when that is over');
    program.signal('SIGTERM');
    expect(await program.exited()).toBe(143);
  });

  it('ADM-28: --pre-stop-delay and --drain-timeout hold for it too', async () => {
    const { program, backend, get, post } = await start(['--pre-stop-delay', '3s', '--drain-timeout', '20ms']);
    backend.behave(behave.ok('served'));
    const client = await connect(program);
    const words = 'not ready, after 3000 ms draining, at most 20 ms';
    expect((await post('/drain')).body).toEqual({ status: 'draining', message: `${words}; ${staying}` });
    expect((await get('/readyz')).status).toBe(503);
    expect((await client.call('/a.B/C', { messages: ['1'] }).done()).status).toBe(0);
    backend.behave(behave.silent);
    const call = client.call('/a.B/C', { messages: ['1'] });
    await call.done();
    expect([call.status, call.trailer('hedgerow-stop-reason')]).toEqual([14, 'drain_timeout']);
    await program.line(`drained; ${staying}`);
    program.signal('SIGINT');
    expect(await program.exited()).toBe(0);
  });
});

describe('GET /throttle on the program', () => {
  it('ADM-24: tells how the bucket stands, and how many calls it held back', async () => {
    const text = JSON.stringify({ ...Object(JSON.parse(thrice)), retryThrottling: { maxTokens: 3, tokenRatio: 0.5 } });
    const running = await start([], { [file]: text });
    const { backend, get, post } = running;
    const whole = { tokens: 3, max_tokens: 3, threshold: 1.5, token_ratio: 0.5, shut: false, suppressed: 0 };
    expect(await get('/throttle')).toEqual({ status: 200, body: { throttle: whole } });
    backend.behave(behave.fail(14));
    // The second failure leaves one token, which shuts the bucket.
    expect(await attempts(running)).toBe(2);
    expect((await get('/throttle')).body).toEqual({ throttle: { ...whole, tokens: 1, shut: true, suppressed: 1 } });
    backend.behave(behave.ok());
    expect(await attempts(running)).toBe(1);
    expect((await get('/throttle')).body).toEqual({ throttle: { ...whole, tokens: 1.5, shut: true, suppressed: 1 } });

    await running.write(file, thrice);
    expect((await post('/reload')).status).toBe(200);
    expect(await get('/throttle')).toEqual({ status: 200, body: { throttle: null } });
  });
});
