import * as grpc from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import type { BackendRow } from '../../../src/admin/backend-state.js';
import { parseBackend } from '../../../src/config/backend.js';
import { Happenings } from '../../support/alive.js';
import type { TestProxy } from '../../support/proxy.js';
import type { RawClient } from '../../support/raw-peer.js';
import { path, useScene } from '../../support/scene.js';
import { RegistryClient } from '../control/rig.js';
import { answerer, answerName } from './several.js';

/*
 * Backends that say how they are, that move, and whose names go from one source to another: on real sockets and clocks, and on
 * nothing but what is told.
 */

const scene = useScene();
const cleanups: (() => unknown)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

const admin = ['--admin', '127.0.0.1:0'];
const same = (bytes: Buffer): Buffer => bytes;
const raw = {
  requestStream: false,
  requestSerialize: same,
  requestDeserialize: same,
  responseSerialize: same,
  responseDeserialize: same,
};

/** A grpc-js server that answers calls with its name, and says what the test says to those who Watch it. */
class Checked {
  readonly address: string;
  private readonly name: string;
  private readonly watchers = new Set<grpc.ServerWritableStream<Buffer, Buffer>>();
  private readonly happenings = new Happenings();
  private status = 1;

  private constructor(name: string, address: string) {
    this.name = name;
    this.address = address;
  }

  static async start(name: string): Promise<Checked> {
    const server = new grpc.Server();
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    const made = new Checked(name, `127.0.0.1:${port}`);
    made.serve(server);
    cleanups.push(() => server.forceShutdown());
    return made;
  }

  private serve(server: grpc.Server): void {
    server.addService(
      {
        Watch: { ...raw, path: '/grpc.health.v1.Health/Watch', responseStream: true },
        Call: { ...raw, path, responseStream: false },
      },
      {
        Watch: (call: grpc.ServerWritableStream<Buffer, Buffer>) => {
          this.watchers.add(call);
          call.on('cancelled', () => {
            this.watchers.delete(call);
            this.happenings.changed();
          });
          call.write(Buffer.from([0x08, this.status]));
          this.happenings.changed();
        },
        Call: (_call: unknown, done: grpc.sendUnaryData<Buffer>) => done(null, Buffer.from(this.name)),
      },
    );
  }

  say(status: 'SERVING' | 'NOT_SERVING'): void {
    this.status = status === 'SERVING' ? 1 : 2;
    for (const call of this.watchers) call.write(Buffer.from([0x08, this.status]));
  }

  watched(count: number): Promise<true> {
    return this.happenings.until(`${count} watches of ${this.name}`, () => this.watchers.size === count || undefined);
  }
}

function setting(name: string, target: string) {
  const parsed = parseBackend(`${name}=${target}`);
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.value;
}

async function rowsOf(proxy: TestProxy): Promise<readonly BackendRow[]> {
  const answer = await fetch(`http://${proxy.admin}/backends`);
  return ((await answer.json()) as { readonly backends: readonly BackendRow[] }).backends;
}

async function post(proxy: TestProxy, action: string): Promise<void> {
  const { status } = await fetch(`http://${proxy.admin}/backends/${action}`, { method: 'POST' });
  expect(status).toBe(200);
}

/** When so many connections have come up. */
async function connected(proxy: TestProxy, count: number): Promise<void> {
  let seen = 0;
  for (let at = 0; seen < count; at += 1) if ((await proxy.change(at)).event === 'connected') seen += 1;
}

/** Who gets four calls. */
async function shares(client: RawClient): Promise<string> {
  const got: string[] = [];
  for (let n = 0; n < 4; n += 1) got.push(answerer(await client.call(path, { messages: ['hi'] }).done()));
  return got.toSorted().join(' ');
}

describe('a backend that is watched', () => {
  it('HEA-64: gets no calls from when it says NOT_SERVING, and its share from when it says SERVING', async () => {
    const [a, b] = [await Checked.start('a'), await Checked.start('b')];
    const proxy = await scene.proxy({ backends: { a: a.address, b: b.address }, flags: ['--health-check', 'x'] });
    const client = await scene.client(proxy);
    await a.watched(1);
    expect(await shares(client)).toBe('a a b b');
    a.say('NOT_SERVING');
    expect(await proxy.health(0)).toMatchObject({ kind: 'parked', id: 'a', reason: 'not_serving' });
    expect(await shares(client)).toBe('b b b b');
    a.say('SERVING');
    expect(await proxy.health(1)).toMatchObject({ kind: 'released', id: 'a', route: 'serving' });
    expect(await shares(client)).toBe('a a b b');
  });

  it('HEA-89: is watched at the address that it has, and what was said at the other is void', async () => {
    const [old, next] = [await Checked.start('old'), await Checked.start('next')];
    const files = { endpoints: [setting('a', old.address)] };
    const proxy = await scene.proxy({ backends: {}, flags: ['--health-check', 'x', '--endpoints', 'f.json'], files });
    await old.watched(1);
    old.say('NOT_SERVING');
    await proxy.health(0);
    proxy.app.putEndpoints([setting('a', next.address)]);
    await Promise.all([old.watched(0), next.watched(1)]);
    expect(await proxy.health(1)).toMatchObject({ kind: 'released', id: 'a', reason: 'not_serving', route: 'removed' });
    next.say('NOT_SERVING');
    expect(await proxy.health(2)).toMatchObject({ kind: 'parked', id: 'a', reason: 'not_serving' });
  });

  it('ADM-11: is not watched while it is drained by hand, and is again when that is taken back', async () => {
    const [a, b] = [await Checked.start('a'), await Checked.start('b')];
    const flags = [...admin, '--health-check', 'x', '--endpoints', 'f.json'];
    const proxy = await scene.proxy({ backends: {}, flags, files: { endpoints: [setting('a', a.address)] } });
    await a.watched(1);
    await post(proxy, 'a/drain');
    await a.watched(0);
    proxy.app.putEndpoints([setting('a', a.address), setting('b', b.address)]);
    await b.watched(1);
    await post(proxy, 'a/unpark');
    await a.watched(1);
    a.say('NOT_SERVING');
    expect(await proxy.health(0)).toMatchObject({ kind: 'parked', id: 'a', reason: 'not_serving' });
  });
});

describe('a name that goes from one to another', () => {
  it('POOL-07, REG-12: registered again at another address, new calls go there, and those at the old one finish', async () => {
    const [x, y] = [await scene.backend({ name: 'x' }), await scene.backend({ name: 'y', onStream: answerName })];
    const proxy = await scene.proxy({ backends: {}, flags: [...admin, '--control', '127.0.0.1:0'] });
    const client = await scene.client(proxy);
    const first = new RegistryClient(String(proxy.app.controlAddress), {});
    const second = new RegistryClient(String(proxy.app.controlAddress), {});
    cleanups.push(() => first.close());
    cleanups.push(() => second.close());
    x.behave(() => {});
    const older = await first.register({ name: 'b1', target: x.address });
    await connected(proxy, 1);
    const call = client.call(path, { messages: ['hi'] });
    const stream = await x.waitForStream(1);
    const newer = await second.register({ name: 'b1', target: y.address });
    expect(await older.ended()).toMatch(/^10 /);
    await connected(proxy, 2);
    expect(await shares(client)).toBe('y y y y');
    expect(await rowsOf(proxy)).toMatchObject([{ name: 'b1', address: y.address, in_flight: 1, state: 'ready' }]);
    // Nor does the loss of the newer one touch them.
    newer.cancel();
    for (let at = 0; (await proxy.line(at)).fields['event'] !== 'registration_lost'; ) at += 1;
    await stream.answer(['x']);
    expect(answerer(await call.done())).toBe('x');
  });

  it('REG-27: taken by the endpoints file and let go of again, it is nobody until somebody registers it', async () => {
    const [x, y] = await Promise.all(['x', 'y'].map((name) => scene.backend({ name, onStream: answerName })));
    if (x === undefined || y === undefined) throw new Error('two backends were started');
    const proxy = await scene.proxy({
      backends: {},
      flags: [...admin, '--control', '127.0.0.1:0', '--endpoints', 'f.json'],
    });
    const client = await scene.client(proxy);
    const registry = new RegistryClient(String(proxy.app.controlAddress), {});
    cleanups.push(() => registry.close());
    const registration = await registry.register({ name: 'b1', target: x.address });
    await connected(proxy, 1);
    expect(await shares(client)).toBe('x x x x');
    proxy.app.putEndpoints([setting('b1', y.address)]);
    expect(await registration.ended()).toMatch(/^6 /);
    await connected(proxy, 2);
    expect(await shares(client)).toBe('y y y y');
    proxy.app.putEndpoints([]);
    expect((await rowsOf(proxy)).filter(({ source }) => source !== null)).toEqual([]);
    await registry.register({ name: 'b1', target: x.address });
    await connected(proxy, 3);
    expect(await shares(client)).toBe('x x x x');
    expect(await rowsOf(proxy)).toMatchObject([{ name: 'b1', address: x.address, source: 'registry' }]);
  });

  it('REG-27: a reset of a stream whose name the endpoints file has taken ends no call there', async () => {
    const [x, y] = [await scene.backend({ name: 'x', onStream: answerName }), await scene.backend({ name: 'y' })];
    y.behave(() => {});
    const proxy = await scene.proxy({ backends: {}, flags: ['--control', '127.0.0.1:0', '--endpoints', 'f.json'] });
    const client = await scene.client(proxy);
    const registry = new RegistryClient(String(proxy.app.controlAddress), {});
    cleanups.push(() => registry.close());
    const registration = await registry.register({ name: 'b1', target: x.address });
    await connected(proxy, 1);
    registration.finish();
    for (let at = 0; (await proxy.line(at)).fields['event'] !== 'left'; ) at += 1;
    proxy.app.putEndpoints([setting('b1', y.address)]);
    await connected(proxy, 2);
    const call = client.call(path, { messages: ['hi'] });
    const stream = await y.waitForStream(1);
    registration.cancel();
    // On the same connection: what was sent before it has been heard.
    await registry.register({ name: 'b2', target: x.address });
    await stream.answer(['y']);
    expect(answerer(await call.done())).toBe('y');
  });
});
