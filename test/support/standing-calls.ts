import { expect } from 'vitest';
import { endHeaders, endStream } from './frames.js';
import { behave, type RawCall } from './raw-peer.js';
import type { RecordedStream } from './recorded-stream.js';
import { path, type Scene, type Stage, verdict } from './scene.js';

/*
 * Two calls that stand open on one connection to a scripted backend, which then breaks a rule of RFC 9113.
 */

export const last: number = endHeaders | endStream;
export const okTrailers = [['grpc-status', '0']] as const;

/** RFC 9113 7. */
export const code = {
  PROTOCOL_ERROR: 1,
  FLOW_CONTROL_ERROR: 3,
  STREAM_CLOSED: 5,
  FRAME_SIZE_ERROR: 6,
  CANCEL: 8,
  COMPRESSION_ERROR: 9,
  ENHANCE_YOUR_CALM: 11,
} as const;

/** What the backend sends, and the code that the proxy answers it with. */
export type Breach = readonly [rule: string, bytes: readonly Uint8Array[], code: number];

/** Stream 1 of the connection is over, two calls are open on it: `victim` on 3, `other` on 5. */
export interface Standing extends Stage {
  readonly victim: RawCall;
  readonly other: RawCall;
  readonly victimStream: RecordedStream;
  readonly otherStream: RecordedStream;
  /** The backend sends this. */
  send(...bytes: readonly Uint8Array[]): void;
}

export async function standing(scene: Scene): Promise<Standing> {
  const stage = await scene.stage();
  // One that has been of use is replaced at once when it is lost.
  expect((await stage.call()).status).toBe(0);
  stage.backend.behave(behave.silent);
  const victim = stage.client.call(path, { messages: ['victim'] });
  const victimStream = await stage.backend.waitForStream(2);
  const other = stage.client.call(path, { messages: ['other'] });
  const otherStream = await stage.backend.waitForStream(3);
  await Promise.all([victimStream.whenEnded(), otherStream.whenEnded()]);
  expect([victimStream.id, otherStream.id]).toEqual([3, 5]);
  const send = (...bytes: readonly Uint8Array[]): void => victimStream.connection.send(...bytes);
  return { ...stage, victim, other, victimStream, otherStream, send };
}

/** A next call is answered, on the connection that has this number (from 1). */
export async function serves({ backend, call }: Stage, connection: number): Promise<void> {
  backend.behave(behave.ok('next'));
  const answer = await call();
  expect(verdict(answer)).toEqual({ status: 0, reason: undefined, retries: '0' });
  expect(backend.streams.at(-1)?.connection).toBe(backend.connections[connection - 1]);
  expect(backend.connections).toHaveLength(connection);
}

/** The two calls are answered as if nothing had been, and the connection goes on. */
export async function unharmed(stage: Standing, calls: readonly RawCall[]): Promise<void> {
  await stage.otherStream.answer(['still here']);
  for (const call of calls) expect(verdict(await call.done())).toMatchObject({ status: 0, retries: '0' });
  await serves(stage, 1);
  expect(stage.victimStream.connection.goaways).toEqual([]);
}
