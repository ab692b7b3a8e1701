import { afterEach, describe, expect, it } from 'vitest';
import { alive } from '../../support/alive.js';
import { openDoor } from '../../support/door.js';
import { ack, type Frame, frame, Type } from '../../support/frames.js';
import { GrpcJsClient } from '../../support/grpc-js-peers.js';
import { behave, type RawClient } from '../../support/raw-peer.js';
import { backend, client, method, one, proxyTo, retry } from '../../support/rig.js';
import { createVirtualTime } from '../../support/virtual-time.js';

const soon = { lastStreamId: 2 ** 31 - 1, code: 0 };

const isPing = ({ type, flags }: Frame): boolean => type === Type.ping && (flags & ack) === 0;

/** Answers the proxy's PING, for a client that answers none by itself. */
async function answerPing(peer: RawClient): Promise<void> {
  const { payload } = await peer.connection.whenFrame('PING', isPing);
  peer.connection.send(frame(Type.ping, ack, 0, payload));
}

describe('--idle-timeout', () => {
  it('CON-20: a client connection without calls gets both GOAWAYs and is closed; a call between them is served', async () => {
    const time = createVirtualTime();
    const {
      proxy,
      backend: b,
      client: c,
    } = await one({ proxy: { time, flags: ['--idle-timeout', '5m'] }, client: { answerPings: false } });
    b.behave(behave.ok('served'));
    expect((await c.call(method, { messages: ['1'] }).done()).status).toBe(0);
    await c.ping();
    time.advance(299_999);
    await c.ping();
    expect(c.goaways).toEqual([]);
    time.advance(1);
    expect(await c.whenGoaway(0)).toMatchObject(soon);
    const late = await c.call(method, { messages: ['2'] }).done();
    expect([late.status, late.messages.map(String)]).toEqual([0, ['served']]);
    await answerPing(c);
    expect(await c.whenGoaway(1)).toMatchObject({ lastStreamId: late.id, code: 0 });
    await c.whenClosed();
    expect(proxy.refused).toEqual([]);
  });

  it('CON-20: a call that is open keeps it, however long it is silent', async () => {
    const time = createVirtualTime();
    const { backend: b, client: c } = await one({
      proxy: {
        time,
        flags: ['--idle-timeout', '5m', '--keepalive-time', 'off', '--client-keepalive-time', 'off'],
      },
    });
    b.behave(behave.silent);
    const call = c.call(method, { messages: ['1'] });
    const stream = await b.waitForStream(1);
    time.advance(86_400_000);
    await c.ping();
    expect(c.goaways).toEqual([]);
    await stream.answer(['done']);
    expect((await call.done()).status).toBe(0);
    await c.ping();
    time.advance(300_000);
    await c.whenClosed();
    expect(c.goaways).toHaveLength(2);
  });
});

describe('--client-keepalive-time', () => {
  const lost = 'no answer to a keepalive PING within 20000 ms';

  it('CON-28: a client that has died without a word is found out; its calls are cancelled, those of others go on', async () => {
    const time = createVirtualTime();
    const {
      proxy,
      backend: b,
      client: dead,
    } = await one({ proxy: { time, flags: ['--keepalive-time', 'off', '--client-keepalive-time', '1m'] } });
    b.behave(behave.silent);
    const lives = await client(proxy);
    const [lostCall, other] = [dead.call(method, { messages: ['1'] }), lives.call(method, { messages: ['2'] })];
    const streams = [await b.waitForStream(1), await b.waitForStream(2)];
    await dead.ping();
    dead.connection.pause();
    time.advance(60_000);
    // Both are asked, and one answers.
    await lives.ping();
    time.advance(19_999);
    await lives.ping();
    expect(proxy.refused).toEqual([]);
    time.advance(1);
    expect(await proxy.refusal(0)).toContain(lost);
    const [mine, others] = streams.toSorted((one, two) =>
      String(one.messages[0]).localeCompare(String(two.messages[0])),
    );
    expect(await mine?.whenReset()).toBe(8);
    await others?.answer(['done']);
    expect((await other.done()).status).toBe(0);
    expect(proxy.refused).toHaveLength(1);
    // It was told nothing that it could have read; read now, it is only that the connection is gone.
    dead.connection.resume();
    await dead.whenClosed();
    expect(lostCall.end).toEqual({ kind: 'lost' });
  });

  it('CON-28: a client that is silent and answers is kept, with calls or without', async () => {
    const time = createVirtualTime();
    const flags = ['--keepalive-time', 'off', '--client-keepalive-time', '2h'];
    const { proxy, backend: b, client: c } = await one({ proxy: { time, flags } });
    b.behave(behave.ok('ok'));
    for (let n = 0; n < 5; n += 1) {
      time.advance(7_200_000);
      await c.connection.whenFrame('PING', isPing, n);
      // What this answers is read after the answer to the PING.
      await c.ping();
    }
    expect((await c.call(method, { messages: ['1'] }).done()).status).toBe(0);
    expect(proxy.refused).toEqual([]);
  });
});

describe('--max-connection-age', () => {
  it('CON-10, BR-72: an old client connection takes no new calls, and ends with its last one', async () => {
    const time = createVirtualTime();
    const { backend: b, client: c } = await one({
      proxy: { time, flags: ['--max-connection-age', '1h', '--keepalive-time', 'off'] },
    });
    b.behave(behave.silent);
    const call = c.call(method, { messages: ['1'] });
    const stream = await b.waitForStream(1);
    await stream.connection.ping();
    time.advance(3_600_000 - 1);
    await c.ping();
    expect(c.goaways).toEqual([]);
    time.advance(1);
    expect(await c.whenGoaway(0)).toMatchObject(soon);
    expect(await c.whenGoaway(1)).toMatchObject({ lastStreamId: call.id, code: 0 });
    const late = c.call(method, { messages: ['2'] });
    await c.ping();
    await stream.answer(['done']);
    expect((await call.done()).status).toBe(0);
    await c.whenClosed();
    expect([b.streams.length, late.status]).toEqual([1, null]);
  });

  it('CON-21, BR-72: calls left when --max-connection-age-grace is over end UNAVAILABLE drain_timeout; other connections feel nothing', async () => {
    const time = createVirtualTime();
    const {
      proxy,
      backend: b,
      client: old,
    } = await one({
      proxy: {
        time,
        flags: ['--max-connection-age', '1h', '--max-connection-age-grace', '10s', '--keepalive-time', 'off'],
      },
    });
    b.behave(behave.silent);
    const endless = old.call(method, { messages: ['1'] });
    const stream = await b.waitForStream(1);
    time.advance(1_800_000);
    const young = await client(proxy);
    const other = young.call(method, { messages: ['2'] });
    const second = await b.waitForStream(2);
    time.advance(1_800_000);
    await old.whenGoaway(1);
    time.advance(9999);
    await old.ping();
    expect(endless.end).toBeNull();
    time.advance(1);
    await endless.done();
    expect([endless.status, endless.trailer('hedgerow-stop-reason'), endless.end]).toEqual([
      14,
      'drain_timeout',
      { kind: 'ended' },
    ]);
    expect(endless.message).toContain('the time to finish before the connection closes is over');
    expect(await stream.whenReset()).toBe(8);
    await old.whenClosed();
    await second.answer(['done']);
    expect((await other.done()).status).toBe(0);
    expect(young.goaways).toEqual([]);
  });
});

describe('under load', () => {
  const cleanups: (() => void)[] = [];
  afterEach(() => {
    for (const cleanup of cleanups.splice(0)) cleanup();
  });

  it('CON-10, BR-71: connections that come of age again and again fail no call, retries included', async () => {
    const b = await backend({ name: 'b' });
    b.behave(async (stream) => {
      await stream.whenEnded();
      if (stream.header('grpc-previous-rpc-attempts') === undefined) stream.trailersOnly(14);
      else await stream.answer(['ok']);
    });
    const proxy = await proxyTo([b], {
      serviceConfig: retry(),
      flags: ['--max-connection-age', '60ms'],
    });
    const door = await openDoor(proxy.port);
    cleanups.push(() => door.close());
    // Node refuses by itself what it had queued when GOAWAY came; such calls grpc-js sends again only with retries on.
    const peer = new GrpcJsClient(door.port, { 'grpc.enable_retries': 1 });
    cleanups.push(() => peer.close());
    const codes = new Map<string, number>();
    const work = async (): Promise<void> => {
      while (door.connections < 8) {
        const { code, details } = await peer.unary('hi');
        const key = code === 0 ? 'OK' : `${code} ${details}`;
        codes.set(key, (codes.get(key) ?? 0) + 1);
      }
    };
    await alive('eight connections', Promise.all(Array.from({ length: 8 }, work)));
    expect([...codes.keys()]).toEqual(['OK']);
  });
});
