import { expect } from 'vitest';
import type { FlakyBackend } from './flaky-backends.js';
import type { Ask, Asked, Pair, RetryClient, Told } from './retry-clients.js';

/** In force on the proxy; waits are short, as none of the checks is about them. */
export const serviceConfig = {
  methodConfig: [
    {
      name: [{}],
      retryPolicy: {
        maxAttempts: 4,
        initialBackoff: '0.001s',
        maxBackoff: '0.001s',
        backoffMultiplier: 1,
        retryableStatusCodes: ['UNAVAILABLE'],
      },
    },
  ],
};
/** What the proxy keeps of a call by default (bytes). */
const bufferLimit = 256 * 1024;
const unavailable = 14;
/** A google.rpc.Status with the code and message of the failure, as grpc-go takes both from it, and one detail. */
const details = 'CA4SBMOkCmIaBAoCYWI=';

/** One call of one client, and what its backend saw. */
export interface Scene {
  readonly client: RetryClient;
  readonly backend: FlakyBackend;
  readonly callId: string;
}

function call({ client, callId }: Scene, metadata: Readonly<Record<string, string>>, ask: Partial<Ask> = {}): Asked {
  return client.call({
    method: 'Unary',
    messages: ['hello'],
    ...ask,
    metadata: [['call-id', callId], ...Object.entries(metadata), ...(ask.metadata ?? [])],
  });
}

function values(pairs: readonly Pair[], key: string): readonly string[] {
  return pairs.flatMap(([name, value]) => (name === key ? [value] : []));
}

function answered({ status, answer }: Told, text: string): void {
  expect({ status, answer }).toEqual({ status: 0, answer: text });
}

function stopped(told: Told, reason: string): void {
  expect(told.status).toBe(unavailable);
  expect(values(told.trailers, 'hedgerow-stop-reason')).toEqual([reason]);
  expect(values(told.trailers, 'hedgerow-origin')).toEqual(['backend']);
}

/** By what is shown, in the words of the table. */
export const retryChecks: Readonly<Record<string, (scene: Scene) => Promise<void>>> = {
  async 'a unary call that fails twice is answered'(scene) {
    const told = await call(scene, { 'fail-first': '2' }).told;
    answered(told, 'Unary 5 hello');
    expect(values(told.trailers, 'hedgerow-retries')).toEqual(['2']);
    expect(await scene.backend.seen(scene.callId)).toBe('previous=0,1,2 cancelled=0');
  },
  async 'a client stream of 30 KiB that fails twice is answered, whole'(scene) {
    const messages = ['a', 'b', 'c'].map((letter) => letter.repeat(10 * 1024));
    const told = await call(scene, { 'fail-first': '2' }, { method: 'Collect', messages }).told;
    answered(told, `Collect ${30 * 1024} ${'a'.repeat(16)}`);
    expect(await scene.backend.seen(scene.callId)).toBe('previous=0,1,2 cancelled=0');
  },
  async 'a unary call just under the buffer limit is retried'(scene) {
    // The five bytes of its prefix count.
    const length = bufferLimit - 5;
    const told = await call(scene, { 'fail-first': '1' }, { messages: ['x'.repeat(length)] }).told;
    answered(told, `Unary ${length} ${'x'.repeat(16)}`);
    expect(await scene.backend.seen(scene.callId)).toBe('previous=0,1 cancelled=0');
  },
  async 'a unary call over it fails, with buffer_exceeded'(scene) {
    const told = await call(scene, { 'fail-first': '1' }, { messages: ['x'.repeat(bufferLimit)] }).told;
    stopped(told, 'buffer_exceeded');
    expect(await scene.backend.seen(scene.callId)).toBe('previous=0 cancelled=0');
  },
  async 'a client stream over it fails, with buffer_exceeded'(scene) {
    const messages = Array.from({ length: 5 }, () => 'x'.repeat(64 * 1024));
    stopped(await call(scene, { 'fail-first': '1' }, { method: 'Collect', messages }).told, 'buffer_exceeded');
    expect(await scene.backend.seen(scene.callId)).toBe('previous=0 cancelled=0');
  },
  async 'the last failure’s message and details come through'(scene) {
    const told = await call(scene, { 'fail-first': '9', 'details-bin': details }).told;
    stopped(told, 'attempts_exhausted');
    expect(told.message).toBe('ä\nb');
    expect(values(told.trailers, 'grpc-status-details-bin')).toEqual([details]);
    expect(await scene.backend.seen(scene.callId)).toBe('previous=0,1,2,3 cancelled=0');
  },
  async 'early headers commit the call'(scene) {
    const told = await call(scene, { 'fail-first': '1', 'early-headers': 'yes' }).told;
    stopped(told, 'committed');
    expect(values(told.headers, 'early')).toEqual(['yes']);
    expect(await scene.backend.seen(scene.callId)).toBe('previous=0 cancelled=0');
  },
  async 'repeated and binary metadata come through a retry, both ways'(scene) {
    const metadata: readonly Pair[] = [
      ['echo-text', 'one'],
      ['echo-text', 'two words'],
      ['echo-raw-bin', 'AP8K'],
      ['echo-raw-bin', 'AQ=='],
    ];
    const told = await call(scene, { 'fail-first': '1' }, { metadata }).told;
    answered(told, 'Unary 5 hello');
    for (const pairs of [told.headers, told.trailers]) {
      // grpc-js has them joined by Node, as HTTP allows.
      expect(values(pairs, 'echo-text').join(', ')).toBe('one, two words');
      expect(values(pairs, 'echo-raw-bin')).toEqual(['AP8K', 'AQ==']);
    }
  },
  async 'a gzip message is replayed, and a gzip answer comes back'(scene) {
    const messages = ['z'.repeat(100 * 1024)];
    const told = await call(scene, { 'fail-first': '1', 'answer-gzip': 'yes' }, { messages, gzip: true }).told;
    answered(told, `Unary ${100 * 1024} ${'z'.repeat(16)}`);
    expect(await scene.backend.seen(scene.callId)).toBe('previous=0,1 cancelled=0');
  },
  async 'a deadline ends the call, and the attempt'(scene) {
    const told = await call(scene, { 'fail-first': '1', hang: 'yes' }, { deadlineMs: 1000 }).told;
    expect(told.status).toBe(4);
    expect(await scene.backend.seen(scene.callId, { cancelled: 1 })).toBe('previous=0,1 cancelled=1');
  },
  async 'a cancel ends the call, and the attempt'(scene) {
    const { told, cancel } = call(scene, { 'fail-first': '1', hang: 'yes' });
    await scene.backend.seen(scene.callId, { attempts: 2 });
    cancel();
    expect((await told).status).toBe(1);
    expect(await scene.backend.seen(scene.callId, { cancelled: 1 })).toBe('previous=0,1 cancelled=1');
  },
};
