import { expect } from 'vitest';
import { placeByRendezvous } from '../../../src/balance/rendezvous.js';
import { backendId } from '../../../src/grpc/backend-id.js';
import { sessionKeyOf } from '../../../src/runtime/session-key.js';
import type { Line } from '../../support/frames.js';
import type { ProxyOptions, TestProxy } from '../../support/proxy.js';
import type { RawBackend, RawCall, RawCallOptions, RawClient } from '../../support/raw-peer.js';
import type { RecordedStream } from '../../support/recorded-stream.js';
import { path, retryConfig, type Scene } from '../../support/scene.js';
import { createVirtualTime, type VirtualTime } from '../../support/virtual-time.js';

export const unavailable = 14;
export const resourceExhausted = 8;
/** RFC 9113 7. */
export const refusedStream = 7;

export const pin = (name: string): Line => ['hedgerow-pin', name];
export const session = (id: string): Line => ['hedgerow-session', id];
export const exclude = (names: string): Line => ['hedgerow-exclude', names];
export const allow: Line = ['hedgerow-allow-retry', 'true'];
export const retryOff: Line = ['hedgerow-retry', 'off'];
export const deadline = (ms: number): Line => ['grpc-timeout', `${ms}m`];

/** Some backends under one proxy on virtual time, and one client. Who is not told otherwise answers its own name. */
export interface Several {
  readonly proxy: TestProxy;
  readonly client: RawClient;
  readonly time: VirtualTime;
  backend(name: string): RawBackend;
  /** Calls `path` with one message and waits for the end. */
  call(headers?: readonly Line[], options?: RawCallOptions): Promise<RawCall>;
  /** The same without the wait. */
  begin(headers?: readonly Line[], options?: RawCallOptions): RawCall;
  /** How many streams each has got, in the order of the names. */
  streams(): number[];
  link(name: string): string | undefined;
  /** What was written on all sockets so far has been read by the proxy. */
  settled(): Promise<void>;
}

export type Behave = (stream: RecordedStream) => void | Promise<void>;

export interface SeveralOptions extends Omit<ProxyOptions, 'backends' | 'time'> {
  /** Of each of them. */
  readonly onStream?: Behave;
  /** After the target: `,max-calls=1`. */
  readonly target?: string;
  /** What their SETTINGS say. */
  readonly settings?: readonly (readonly [id: number, value: number])[];
}

/** Answers OK with the name of the backend. */
export async function answerName(stream: RecordedStream): Promise<void> {
  await stream.whenEnded();
  await stream.answer([stream.backend]);
}

export async function several(scene: Scene, names: readonly string[], options: SeveralOptions = {}): Promise<Several> {
  const { onStream = answerName, target = '', settings = [], ...rest } = options;
  const time = createVirtualTime();
  const backends = await Promise.all(names.map((name) => scene.backend({ name, onStream, settings })));
  const proxy = await scene.proxy({
    ...rest,
    time,
    backends: Object.fromEntries(backends.map(({ name, port }) => [name, `127.0.0.1:${port}${target}`])),
  });
  const client = await scene.client(proxy);
  const begin = (headers: readonly Line[] = [], more: RawCallOptions = {}): RawCall =>
    client.call(path, { messages: ['hi'], headers, ...more });
  return {
    proxy,
    client,
    time,
    backend(name) {
      const found = backends.find((backend) => backend.name === name);
      if (found === undefined) throw new Error(`no backend ${name}`);
      return found;
    },
    begin,
    call: (headers, more) => begin(headers, more).done(),
    streams: () => backends.map(({ streams }) => streams.length),
    link: (name) => proxy.app.pool.backends.find((backend) => backend.name === name)?.link,
    async settled() {
      await client.ping();
      for (const { connections } of backends)
        for (const connection of connections) if (!connection.closed) await connection.ping();
      await client.ping();
    },
  };
}

/** Who answered, by its message; the status where nobody did. */
export function answerer(call: RawCall): string {
  return call.messages.map(String)[0] ?? String(call.status);
}

/** Ids whose new sessions are placed on that backend while all of them are well. */
export function* idsOn(name: string, names: readonly string[]): Generator<string, never> {
  const candidates = names.map((one) => ({ id: backendId(one), weight: 1 }));
  for (let n = 0; ; n += 1) {
    const id = `session-${n}`;
    if (placeByRendezvous(sessionKeyOf(id), candidates, () => true) === name) yield id;
  }
}

/** The first of them. */
export function idOn(name: string, names: readonly string[]): string {
  return idsOn(name, names).next().value;
}

/** Takes a backend out of the set, as a file, a registration or DNS would; without calls there it is gone when this resolves. */
export async function remove({ app, changes, change }: TestProxy, name: string): Promise<void> {
  const { length } = changes;
  app.pool.apply(app.pool.backends.filter((backend) => backend.name !== name));
  for (let at = length; ; at += 1) {
    const { event, name: whose } = await change(at);
    if (event === 'closed' && whose === name) return;
  }
}

/** Makes a backend fail three calls in a row that have no alternative, so that it is parked for 30 s. */
export async function park(scene: Several, name: string): Promise<void> {
  const parks = scene.proxy.healthChanges.length;
  scene.backend(name).behave((stream) => stream.trailersOnly(unavailable));
  for (let n = 0; n < 3; n += 1) await scene.call([pin(name)]);
  await scene.proxy.health(parks);
  scene.backend(name).behave(answerName);
}

/** Takes a backend's connection, and lets no other be made: resolves when one could not. */
export async function cutOff({ backend, proxy }: Several, name: string): Promise<void> {
  await backend(name).stopListening();
  const { length } = proxy.changes;
  backend(name).kill();
  expect((await proxy.change(length)).event).toBe('lost');
  expect((await proxy.change(length + 1)).event).toBe('connect_failed');
}

/** Lets time pass until a backend that has no connection is connected again, which must work. */
export async function connectAgain({ proxy, time }: Several, name: string): Promise<void> {
  const backend = proxy.app.pool.backends.find((one) => one.name === name);
  for (let next = proxy.changes.length; backend?.link !== 'ready'; next += 1) {
    // No further: the time that a connect may take is virtual, and the connect is not.
    const at = backend?.nextConnectAt ?? null;
    if (at !== null) time.advance(at - time.clock.now());
    const { event, name: whose, detail } = await proxy.change(next);
    if (whose === name) expect(event, detail).not.toBe('connect_failed');
  }
}

/** Cuts a backend's connection, and has it connected again. */
export async function reconnect(pool: Several, name: string): Promise<void> {
  const { length } = pool.proxy.changes;
  pool.backend(name).kill();
  expect((await pool.proxy.change(length)).event).toBe('lost');
  await connectAgain(pool, name);
}

/** Three backends with a retry policy, and a session whose home is a. */
export async function sessionAtA(
  scene: Scene,
  options: SeveralOptions = {},
): Promise<{ readonly id: string; readonly pool: Several }> {
  const names = ['a', 'b', 'c'];
  const id = idOn('a', names);
  const serviceConfig = retryConfig({ maxAttempts: 3, initial: 1, max: 1 });
  const pool = await several(scene, names, { serviceConfig, ...options });
  expect(answerer(await pool.call([session(id)]))).toBe('a');
  return { id, pool };
}
