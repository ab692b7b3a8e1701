import { describe, expect, it } from 'vitest';
import { behave } from '../../support/behave.js';
import { frameMessage } from '../../support/grpc-lines.js';
import type { TestProxy } from '../../support/proxy.js';
import type { RawClient } from '../../support/raw-peer.js';
import { client, method, one, pattern } from '../../support/rig.js';
import { createVirtualTime, type VirtualTime } from '../../support/virtual-time.js';

const initialWindowSize = 4;
const answer = pattern(30_000);
const whole = frameMessage(answer).length;

interface Scene {
  readonly proxy: TestProxy;
  readonly time: VirtualTime;
  readonly late: RawClient;
  /** A client that reads. */
  readonly witness: RawClient;
  /** Calls whose answers are unread. */
  readonly ended: readonly ReturnType<RawClient['call']>[];
}

/** A client that does not read has calls until the proxy itself holds bytes of answers whose calls have ended. */
async function meet(flags: readonly string[]): Promise<Scene> {
  const time = createVirtualTime();
  const {
    proxy,
    backend: b,
    client: late,
  } = await one({
    proxy: { time, flags: [...flags, '--keepalive-time', 'off'] },
    client: { settings: [[initialWindowSize, 2 ** 31 - 1]], windows: 'none' },
  });
  b.behave(behave.ok(answer));
  late.connection.giveWindow(0, 2 ** 30);
  const witness = await client(proxy);
  await late.ping();
  late.connection.pause();
  const ended: ReturnType<RawClient['call']>[] = [];
  for (;;) {
    const call = late.call(method);
    while (proxy.calls.length === ended.length && proxy.app.ledger().relayBytes === 0) await witness.ping();
    if (proxy.calls.length === ended.length) {
      // The socket takes no more: up to here the calls are over, and 64 KiB at least are in the process.
      call.reset();
      await proxy.call(ended.length);
      return { proxy, time, late, witness, ended };
    }
    ended.push(call);
  }
}

/** Resolves when the proxy has had a turn: a client that comes now has an answer. */
async function turn(proxy: TestProxy): Promise<void> {
  await (await client(proxy)).ping();
}

/** The client reads at last. */
async function read({ late, ended }: Scene): Promise<void> {
  late.connection.resume();
  for (const call of ended) await call.done();
  expect(ended.map(({ status, data }) => [status, data.length])).toEqual(ended.map(() => [0, whole]));
  await late.whenClosed();
  expect(late.goaways).toHaveLength(2);
}

describe('CON-29: a client that begins to read late has the whole of its answers', () => {
  it('where its connection is too old', async () => {
    const scene = await meet(['--max-connection-age', '20s']);
    const { proxy, time } = scene;
    time.advance(20_000);
    // The PING of the goodbye has a second; then the grace runs.
    time.advance(1000);
    await turn(proxy);
    time.advance(28_000);
    await turn(proxy);
    await read(scene);
  });

  it('where its connection is idle', async () => {
    const scene = await meet(['--idle-timeout', '10s']);
    const { proxy, time } = scene;
    time.advance(10_000);
    time.advance(1000);
    await turn(proxy);
    time.advance(29_000);
    await turn(proxy);
    await read(scene);
  });

  it('where the proxy drains', async () => {
    const scene = await meet(['--drain-timeout', '20s']);
    const { proxy, time } = scene;
    const drained = proxy.app.drain();
    time.advance(1000);
    const idle = await scene.witness.whenGoaway(1);
    expect(idle.code).toBe(0);
    time.advance(18_000);
    await read(scene);
    await drained;
  });

  it('and one that never reads is given up when the time is over', async () => {
    const { proxy, time, late, witness } = await meet(['--drain-timeout', '20s']);
    const drained = proxy.app.drain();
    time.advance(1000);
    await witness.whenGoaway(1);
    time.advance(19_000);
    time.advance(100);
    await drained;
    late.connection.resume();
    await late.whenClosed();
  });
});
