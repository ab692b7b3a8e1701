import * as grpc from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import type { BackendTls } from '../../../src/upstream/connect.js';
import { watchOf } from '../../../src/upstream/health-stream.js';
import { createHealthWatch, type HealthWatch, type HealthWord } from '../../../src/upstream/health-watch.js';
import { clock, NodeAlarms } from '../../support/node-ports.js';
import { certificate, privateKey } from '../../support/tls.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Things that come one after the other, taken in order as they come. */
class Arrivals<T> {
  private readonly come: T[] = [];
  private waiting: ((item: T) => void) | null = null;

  give(item: T): void {
    const { waiting } = this;
    this.waiting = null;
    if (waiting === null) this.come.push(item);
    else waiting(item);
  }

  next(): Promise<T> {
    const item = this.come.shift();
    if (item !== undefined) return Promise.resolve(item);
    return new Promise((resolve) => {
      this.waiting = resolve;
    });
  }
}

type WatchCall = grpc.ServerWritableStream<Buffer, Buffer>;

/** A backend whose Watch a test answers by hand. */
class HealthBackend {
  readonly calls = new Arrivals<WatchCall>();
  readonly cancelled = new Arrivals<void>();
  readonly server: grpc.Server;

  constructor() {
    const same = (bytes: Buffer): Buffer => bytes;
    this.server = new grpc.Server();
    this.server.addService(
      {
        Watch: {
          path: '/grpc.health.v1.Health/Watch',
          requestStream: false,
          responseStream: true,
          requestSerialize: same,
          requestDeserialize: same,
          responseSerialize: same,
          responseDeserialize: same,
        },
      },
      {
        Watch: (call: WatchCall) => {
          call.on('cancelled', () => this.cancelled.give());
          this.calls.give(call);
        },
      },
    );
    cleanups.push(() => this.server.forceShutdown());
  }

  /** @param port 0 picks one */
  listen(credentials = grpc.ServerCredentials.createInsecure(), port = 0): Promise<number> {
    return listen(this.server, credentials, port);
  }
}

function listen(server: grpc.Server, credentials: grpc.ServerCredentials, port = 0): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(`127.0.0.1:${port}`, credentials, (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
}

const serving = Buffer.from([0x08, 1]);
const notServing = Buffer.from([0x08, 2]);

interface Watched {
  readonly watch: HealthWatch;
  readonly words: Arrivals<HealthWord>;
  readonly alarms: NodeAlarms;
}

function watched(port: number, service = '', tls: () => BackendTls | null = () => null): Watched {
  const words = new Arrivals<HealthWord>();
  const alarms = new NodeAlarms();
  const watch = createHealthWatch({
    open: watchOf({ kind: 'tcp', host: '127.0.0.1', port }, null, service, tls),
    clock,
    alarms,
    random: { next: () => 0 },
    answerTimeout: 15_000,
    backoffMax: 200,
    onWord: (word) => words.give(word),
  });
  cleanups.push(() => watch.stop());
  watch.start();
  return { watch, words, alarms };
}

describe('a health watch of a grpc-js server', () => {
  it('hears what it says, of the service that is asked for, until it is stopped', async () => {
    const backend = new HealthBackend();
    const { watch, words, alarms } = watched(await backend.listen(), 'pkg.Service');
    const call = await backend.calls.next();
    expect(call.request).toEqual(Buffer.from('\n\u000bpkg.Service'));
    call.write(serving);
    expect(await words.next()).toEqual({ kind: 'serving' });
    call.write(notServing);
    expect(await words.next()).toEqual({ kind: 'not_serving', detail: 'it says NOT_SERVING' });
    watch.stop();
    await backend.cancelled.next();
    expect(alarms.pending).toBe(0);
  });

  it('says when it is gone, and hears it again when it is back', async () => {
    const before = new HealthBackend();
    const port = await before.listen();
    const { words } = watched(port);
    (await before.calls.next()).write(serving);
    expect(await words.next()).toEqual({ kind: 'serving' });
    before.server.forceShutdown();
    expect(await words.next()).toMatchObject({ kind: 'unknown' });
    const after = new HealthBackend();
    await after.listen(grpc.ServerCredentials.createInsecure(), port);
    (await after.calls.next()).write(notServing);
    expect(await words.next()).toMatchObject({ kind: 'not_serving' });
  });

  it('is off where there is no health service', async () => {
    const server = new grpc.Server();
    cleanups.push(() => server.forceShutdown());
    const { words, alarms } = watched(await listen(server, grpc.ServerCredentials.createInsecure()));
    expect(await words.next()).toMatchObject({ kind: 'off', detail: expect.stringContaining('UNIMPLEMENTED') });
    expect(alarms.pending).toBe(0);
  });

  it('takes an answer that is none for an end', async () => {
    const backend = new HealthBackend();
    const { words } = watched(await backend.listen());
    (await backend.calls.next()).write(Buffer.from([0x0b]));
    expect(await words.next()).toMatchObject({ kind: 'unknown', detail: expect.stringContaining('wire type 3') });
  });

  it('shows its certificate and checks the backend over TLS, by the texts that are in force at the connect', async () => {
    const pair = { private_key: Buffer.from(privateKey('server')), cert_chain: Buffer.from(certificate('server')) };
    const backend = new HealthBackend();
    const port = await backend.listen(grpc.ServerCredentials.createSsl(Buffer.from(certificate('ca')), [pair], true));
    const own = { cert: certificate('client'), key: privateKey('client'), serverName: null };
    let tls: BackendTls = { ...own, ca: certificate('other-ca') };
    const { words } = watched(port, '', () => tls);
    expect(await words.next()).toMatchObject({ kind: 'unknown' });
    tls = { ...own, ca: certificate('ca') };
    (await backend.calls.next()).write(serving);
    expect(await words.next()).toEqual({ kind: 'serving' });
  });

  it('does not take a certificate for another name', async () => {
    const pair = { private_key: Buffer.from(privateKey('server')), cert_chain: Buffer.from(certificate('server')) };
    const backend = new HealthBackend();
    const port = await backend.listen(grpc.ServerCredentials.createSsl(null, [pair]));
    let serverName = 'elsewhere.test';
    const { words } = watched(port, '', () => ({ ca: certificate('ca'), serverName }));
    expect(await words.next()).toMatchObject({ kind: 'unknown' });
    serverName = 'localhost';
    (await backend.calls.next()).write(serving);
    expect(await words.next()).toEqual({ kind: 'serving' });
  });
});
