import net from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ack, type Frame, frame, Type } from '../../support/frames.js';
import { hedgerow, type Program, type ProgramOptions } from '../../support/program.js';
import type { RawOptions } from '../../support/raw-connection.js';
import {
  type Behaviour,
  behave,
  connectRawClient,
  type RawBackend,
  type RawClient,
  startRawBackend,
} from '../../support/raw-peer.js';
import { pattern, retry } from '../../support/rig.js';

const drainTimeout = 'drain_timeout';
let backend: RawBackend | null = null;
let clients: RawClient[] = [];

afterEach(async () => {
  for (const client of clients) client.kill();
  clients = [];
  await backend?.close();
  backend = null;
});

/** The program with one backend, which is connected, and a retry policy for all methods. */
async function start(
  flags: readonly string[] = [],
  options: ProgramOptions = {},
): Promise<{ program: Program; backend: RawBackend }> {
  backend = await startRawBackend();
  const program = await hedgerow(
    ['serve', '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--backend', `b=${backend.address}`, ...flags],
    { files: { 'service-config.json': JSON.stringify(retry()) }, ...options },
  );
  await program.line(({ event }) => event === 'connected');
  return { program, backend };
}

async function connect(program: Program, options: RawOptions = {}): Promise<RawClient> {
  const client = await connectRawClient(await program.port(), options);
  clients.push(client);
  return client;
}

/** The proxy's PING. */
function pingOf(client: RawClient): Promise<Frame> {
  return client.connection.whenFrame('PING', ({ type, flags }) => type === Type.ping && (flags & ack) === 0);
}

describe.each(['SIGTERM', 'SIGINT'] as const)('%s', (signal) => {
  it('CON-16, SM-37: drains: two GOAWAYs around a PING, calls in flight finish with their retries, exit 0', async () => {
    const { program, backend: b } = await start();
    const client = await connect(program, { answerPings: false });
    b.behave(behave.silent);
    const first = client.call('/a.B/First', { messages: ['1'] });
    const attempt = await b.waitForStream(1);
    expect((await fetch(`http://${await program.admin()}/readyz`)).status).toBe(200);

    program.signal(signal);
    expect(await client.whenGoaway(0)).toMatchObject({ lastStreamId: 2 ** 31 - 1, code: 0 });
    const readyz = await fetch(`http://${await program.admin()}/readyz`);
    expect([readyz.status, await readyz.json()]).toEqual([503, { status: 'draining' }]);
    expect((await fetch(`http://${await program.admin()}/healthz`)).status).toBe(200);
    await expect(connectRawClient(await program.port())).rejects.toThrow('ECONNREFUSED');

    // Sent before the client heard the last word: served.
    const ping = await pingOf(client);
    b.behave(behave.ok('late'));
    const second = await client.call('/a.B/Second', { messages: ['2'] }).done();
    expect([second.status, second.messages.map(String)]).toEqual([0, ['late']]);
    expect(client.goaways).toHaveLength(1);

    client.connection.send(frame(Type.ping, ack, 0, ping.payload));
    expect(await client.whenGoaway(1)).toMatchObject({ lastStreamId: second.id, code: 0 });
    const third = client.call('/a.B/Third', { messages: ['3'] });
    await client.ping();
    expect(third.end).toBeNull();

    // The retry of a call in flight falls due in the drain.
    attempt.trailersOnly(14);
    await first.done();
    expect([first.status, first.messages.map(String), first.trailer('hedgerow-retries')]).toEqual([0, ['late'], '1']);
    await client.whenClosed();
    expect(await program.exited()).toBe(0);
    expect(b.streams.map((stream) => stream.header(':path'))).toEqual(['/a.B/First', '/a.B/Second', '/a.B/First']);
    expect(program.lines.map(({ msg }) => msg)).toEqual(
      expect.arrayContaining([`${signal}: draining, at most 30000 ms`, 'drained']),
    );
    expect(program.err).toBe('');
  });

  it('a second time: ends at once, whatever is in flight', async () => {
    const { program, backend: b } = await start();
    b.behave(behave.silent);
    const client = await connect(program);
    client.call('/a.B/C', { messages: ['1'] });
    await b.waitForStream(1);
    program.signal(signal);
    await client.whenGoaway(1);
    expect(program.ended).toBe(false);
    program.signal(signal);
    expect(await program.exited()).toBe(signal === 'SIGINT' ? 130 : 143);
  });
});

describe('a drain', () => {
  it('waits at most a second for the answer to its PING', async () => {
    const { program, backend: b } = await start();
    b.behave(behave.silent);
    const client = await connect(program, { answerPings: false });
    const call = client.call('/a.B/C', { messages: ['1'] });
    const attempt = await b.waitForStream(1);
    program.signal('SIGTERM');
    await client.whenGoaway(0);
    expect(await client.whenGoaway(1)).toMatchObject({ lastStreamId: call.id, code: 0 });
    await attempt.answer(['done']);
    expect((await call.done()).status).toBe(0);
    expect(await program.exited()).toBe(0);
  });

  it.each<[string, Behaviour]>([
    ['before the answer', behave.silent],
    ['within the answer', (stream) => void stream.sendHeaders().sendMessage('part')],
  ])('PRX-27: that takes longer than --drain-timeout ends its calls UNAVAILABLE: %s', async (_when, behaviour) => {
    const { program, backend: b } = await start(['--drain-timeout', '20ms']);
    b.behave(behaviour);
    const client = await connect(program);
    const call = client.call('/a.B/C', { messages: ['1'] });
    const attempt = await b.waitForStream(1);
    if (behaviour !== behave.silent) await call.whenMessages(1);
    program.signal('SIGTERM');
    await call.done();
    expect([call.status, call.trailer('hedgerow-stop-reason'), call.end]).toEqual([
      14,
      drainTimeout,
      { kind: 'ended' },
    ]);
    expect(call.message).toMatch(/^hedgerow: /);
    expect(await attempt.whenReset()).toBe(8);
    expect(await program.exited()).toBe(0);
    expect(program.lines).toContainEqual(
      expect.objectContaining({ msg: 'call', code: 'UNAVAILABLE', reason: drainTimeout }),
    );
    expect(b.streams).toHaveLength(1);
  });

  it('does not cut a backoff short, nor wait for it beyond --drain-timeout', async () => {
    const { program, backend: b } = await start(['--drain-timeout', '20ms'], {
      files: { 'service-config.json': JSON.stringify(retry({ backoff: '60s' })) },
    });
    b.behave(behave.fail(14));
    const client = await connect(program);
    const call = client.call('/a.B/C', { messages: ['1'] });
    await b.waitForStream(1);
    await client.ping();
    program.signal('SIGTERM');
    await call.done();
    expect([call.status, call.trailer('hedgerow-stop-reason')]).toEqual([14, drainTimeout]);
    expect(await program.exited()).toBe(0);
  });

  it('gives a client that reads slowly its whole answer', async () => {
    const { program, backend: b } = await start();
    const answer = pattern(1_000_000);
    b.behave(behave.ok(answer));
    const client = await connect(program, { windows: 'none' });
    const call = client.call('/a.B/C', { messages: ['1'] });
    await call.whenData(65_535);
    program.signal('SIGTERM');
    await client.whenGoaway(1);
    client.connection.giveWindow(0, 2_000_000);
    call.raw.giveWindow(2_000_000);
    await call.done();
    expect([call.status, call.messages[0]?.equals(answer)]).toEqual([0, true]);
    expect(await program.exited()).toBe(0);
  });

  it('is not held up by clients without calls that never close, nor by ones that never said anything', async () => {
    const { program } = await start();
    const idle = await connect(program, { answerPings: false });
    idle.connection.pause();
    const silent = net.connect(await program.port(), '127.0.0.1');
    silent.on('error', () => {});
    const half = await connect(program, { greet: false });
    half.connection.pause();
    program.signal('SIGTERM');
    expect(await program.exited()).toBe(0);
    silent.destroy();
  });

  it('without clients is over at once', async () => {
    const { program } = await start();
    program.signal('SIGTERM');
    expect(await program.exited()).toBe(0);
    expect(program.lines.at(-1)).toMatchObject({ level: 30, msg: 'drained' });
  });
});

describe('--pre-stop-delay', () => {
  it('CON-22: not ready at once, but served until the delay is over', async () => {
    // Long enough for what follows on a busy machine; a drain that is over is what ends the test.
    const { program, backend: b } = await start(['--pre-stop-delay', '2s']);
    b.behave(behave.ok('served'));
    const client = await connect(program);
    program.signal('SIGTERM');
    await program.line('SIGTERM: not ready, after 2000 ms draining, at most 30000 ms');
    const readyz = await fetch(`http://${await program.admin()}/readyz`);
    expect([readyz.status, await readyz.json()]).toEqual([503, { status: 'draining' }]);
    const late = await connect(program);
    for (const one of [client, late]) {
      expect((await one.call('/a.B/C', { messages: ['1'] }).done()).status).toBe(0);
      expect(one.goaways).toEqual([]);
    }
    await late.whenGoaway(1);
    expect(await program.exited()).toBe(0);
    expect(program.lines.at(-1)).toMatchObject({ msg: 'drained' });
  });

  it('CON-22: a second signal ends it at once', async () => {
    const { program } = await start(['--pre-stop-delay', '1h']);
    program.signal('SIGTERM');
    await program.line('SIGTERM: not ready, after 3600000 ms draining, at most 30000 ms');
    program.signal('SIGTERM');
    expect(await program.exited()).toBe(143);
  });
});
