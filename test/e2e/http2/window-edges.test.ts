import { describe, expect, it } from 'vitest';
import { settings, windowUpdate } from '../../support/frames.js';
import { Setting } from '../../support/raw-connection.js';
import { behave, type RawCall } from '../../support/raw-peer.js';
import type { RawStream } from '../../support/raw-stream.js';
import { path, type Stage, useScene } from '../../support/scene.js';
import { code } from '../../support/standing-calls.js';

/*
 * A peer, on either side of the proxy, that takes its windows to their edges (RFC 9113 6.9.1, 6.9.2), while DATA waits for it.
 */

const scene = useScene();
const most = 2 ** 31 - 1;
/** The peer's window at first, and a message that is longer: with its prefix. */
const first = 100;
const body = 500;
const whole = body + 5;

/** A call whose `whole` bytes of DATA the proxy sends to a peer that gives no window by itself. */
interface Sending extends Stage {
  readonly call1: RawCall;
  /** The peer's end of the stream. */
  readonly stream: RawStream;
  /** What the peer has got, when all that the proxy had to send to it has come. */
  got(): Promise<number>;
  send(...frames: readonly Uint8Array[]): void;
  /** Ends the call, OK. */
  finish(): Promise<void>;
}

const narrow = { settings: [[Setting.initialWindowSize, first]], windows: 'none' } as const;

async function sending(to: 'backend' | 'client'): Promise<Sending> {
  const message = Buffer.alloc(body, 7);
  const stage = await scene.stage(
    to === 'backend'
      ? { backend: narrow, onStream: behave.silent }
      : { client: narrow, onStream: (attempt) => attempt.sendHeaders().sendMessage(message) },
  );
  const call1 = stage.client.call(path, { messages: [to === 'backend' ? message : 'hi'] });
  const attempt = await stage.backend.waitForStream(1);
  const stream = to === 'backend' ? attempt.raw : call1.raw;
  await stream.whenData(first);
  const { connection } = stream;
  return {
    ...stage,
    call1,
    stream,
    async got() {
      // Its answer comes after everything that the proxy sent before.
      await connection.ping();
      return stream.data.length;
    },
    send: (...frames) => connection.send(...frames),
    async finish() {
      if (to === 'backend') attempt.sendHeaders();
      attempt.trailers(0);
      expect((await call1.done()).status).toBe(0);
    },
  };
}

/** The connection goes on: another call is answered on it. */
async function goesOn({ backend, call }: Stage): Promise<void> {
  backend.behave(behave.ok());
  expect((await call()).status).toBe(0);
  expect(backend.connections).toHaveLength(1);
}

describe.each(['backend', 'client'] as const)('towards a %s', (to) => {
  it('CON-26, CON-27: a window that SETTINGS take below zero, and then to 2^31-1', async () => {
    const stage = await sending(to);
    const { stream, send, got, finish } = stage;
    expect(await got()).toBe(first);
    send(settings([Setting.initialWindowSize, 30]), windowUpdate(stream.id, 70));
    expect(await got()).toBe(first);
    send(windowUpdate(stream.id, 1));
    expect(await got()).toBe(first + 1);
    send(settings([Setting.initialWindowSize, 0]), settings([Setting.initialWindowSize, most]));
    expect(await stream.whenData(whole)).toHaveLength(whole);
    await finish();
    await goesOn(stage);
  });

  it('CON-25: windows at 2^31-1 exactly', async () => {
    const stage = await sending(to);
    const { stream, send, finish } = stage;
    send(windowUpdate(stream.id, most), windowUpdate(0, most - 65_535 + first));
    expect(await stream.whenData(whole)).toHaveLength(whole);
    await finish();
    await goesOn(stage);
  });

  it('CON-25: a stream’s window over it: this call alone ends', async () => {
    const stage = await sending(to);
    const { call1, stream, send } = stage;
    send(windowUpdate(stream.id, most), windowUpdate(stream.id, most));
    expect(await stream.whenReset()).toBe(code.FLOW_CONTROL_ERROR);
    await call1.done();
    expect(call1.end).toEqual(to === 'backend' ? { kind: 'ended' } : { kind: 'reset', code: code.FLOW_CONTROL_ERROR });
    if (to === 'backend') expect(call1.status).toBe(13);
    else expect(await (await stage.backend.waitForStream(1)).whenReset()).toBe(code.CANCEL);
    await goesOn(stage);
  });

  it.each([
    ['WINDOW_UPDATE', (_id: number) => [windowUpdate(0, most)]],
    ['SETTINGS', (_id: number) => [settings([Setting.initialWindowSize, most + 1])]],
    [
      'SETTINGS that open streams cannot take',
      (id: number) => [windowUpdate(id, most), settings([Setting.initialWindowSize, most])],
    ],
  ])('CON-25, CON-27: over it for the connection, by %s: the connection ends', async (_by, bytes) => {
    const { call1, stream, send, proxy } = await sending(to);
    send(...bytes(stream.id));
    expect((await stream.connection.whenGoaway()).code).toBe(code.FLOW_CONTROL_ERROR);
    await stream.connection.whenClosed();
    if (to === 'backend') expect((await call1.done()).status).toBe(14);
    else expect(await proxy.call(0)).toMatchObject({ reason: 'client_cancelled' });
    expect(proxy.defects).toEqual([]);
  });
});
