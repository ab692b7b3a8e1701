import { once } from 'node:events';
import { gunzipSync, gzipSync } from 'node:zlib';
import * as grpc from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import {
  collect,
  GrpcJsClient,
  type GrpcJsServer,
  type Handlers,
  startGrpcJsServer,
} from '../../support/grpc-js-peers.js';
import { frameMessage } from '../../support/grpc-lines.js';
import type { ProxyOptions, TestProxy } from '../../support/proxy.js';
import { backend, pattern, proxyTo, retry } from '../../support/rig.js';

const servers: GrpcJsServer[] = [];
const clients: GrpcJsClient[] = [];

afterEach(() => {
  for (const client of clients.splice(0)) client.close();
  for (const server of servers.splice(0)) server.stop();
});

function clientOf(proxy: TestProxy, options: grpc.ClientOptions = {}): GrpcJsClient {
  const client = new GrpcJsClient(proxy.port, options);
  clients.push(client);
  return client;
}

/** A stock client, the proxy, a stock server. */
async function meet(
  handlers: Handlers,
  options: Omit<ProxyOptions, 'backends'> = {},
): Promise<{ client: GrpcJsClient; proxy: TestProxy }> {
  const server = await startGrpcJsServer(handlers);
  servers.push(server);
  const proxy = await proxyTo([{ name: 'b', port: server.port }], options);
  return { client: clientOf(proxy), proxy };
}

function metadata(values: Readonly<Record<string, readonly (string | Buffer)[]>>): grpc.Metadata {
  const made = new grpc.Metadata();
  for (const [key, list] of Object.entries(values)) for (const value of list) made.add(key, value);
  return made;
}

const echo: grpc.handleUnaryCall<Buffer, Buffer> = (call, done) => done(null, call.request);

describe('grpc-js on both sides', () => {
  it('unary: the message, metadata both ways, -bin keys and repeats byte for byte', async () => {
    const bytes = Buffer.from([0, 1, 0xfe, 0xff, 0x2c]);
    const seen: grpc.Metadata[] = [];
    const { client } = await meet({
      unary(call, done) {
        seen.push(call.metadata);
        call.sendMetadata(metadata({ 'x-head': ['h1', 'h2'], 'x-head-bin': [bytes] }));
        done(null, call.request, metadata({ 'x-trail': ['t'], 'x-trail-bin': [bytes, Buffer.alloc(0), bytes] }));
      },
    });
    const sent = metadata({ 'x-plain': ['a', 'b'], 'x-data-bin': [bytes, Buffer.from('two')] });
    const { code, answer, headers, trailers } = await client.unary(bytes, sent);
    expect([code, answer?.equals(bytes)]).toEqual([grpc.status.OK, true]);
    expect(seen[0]?.get('x-plain')).toEqual(['a, b']);
    expect(seen[0]?.get('x-data-bin')).toEqual([bytes, Buffer.from('two')]);
    expect(headers?.get('x-head')).toEqual(['h1, h2']);
    expect(headers?.get('x-head-bin')).toEqual([bytes]);
    expect(headers?.get('hedgerow-backend')).toEqual(['b']);
    expect(trailers.get('x-trail')).toEqual(['t']);
    expect(trailers.get('x-trail-bin')).toEqual([bytes, Buffer.alloc(0), bytes]);
    expect(trailers.get('hedgerow-retries')).toEqual(['0']);
    expect(trailers.get('hedgerow-stop-reason')).toEqual([]);
  });

  it('server streaming: every message, in order', async () => {
    const { client } = await meet({
      serverStream(call) {
        for (let i = 0; i < 500; i += 1) call.write(Buffer.from(`${call.request.toString()}${i}`));
        call.end(metadata({ 'x-count': ['500'] }));
      },
    });
    const { messages, status } = await collect(client.serverStream('m'));
    expect(status.code).toBe(grpc.status.OK);
    expect(status.metadata.get('x-count')).toEqual(['500']);
    expect(messages.map(String)).toEqual(Array.from({ length: 500 }, (_, i) => `m${i}`));
  });

  it('client streaming: every message, in order, one answer', async () => {
    const { client } = await meet({
      clientStream(call, done) {
        const got: string[] = [];
        call.on('data', (message: Buffer) => got.push(String(message)));
        call.on('end', () => done(null, Buffer.from(got.join())));
      },
    });
    const sent = Array.from({ length: 500 }, (_, i) => `m${i}`);
    const { code, answer } = await client.clientStream((call) => {
      for (const message of sent) call.write(Buffer.from(message));
      call.end();
    });
    expect([code, String(answer)]).toEqual([grpc.status.OK, sent.join()]);
  });

  it('bidi streaming: each message is answered before the next is sent', async () => {
    const { client } = await meet({
      bidi(call) {
        call.on('data', (message: Buffer) => call.write(Buffer.from(`re ${message.toString()}`)));
        call.on('end', () => call.end());
      },
    });
    const call = client.bidi();
    const ended = once(call, 'status');
    for (let i = 0; i < 50; i += 1) {
      call.write(Buffer.from(`${i}`));
      const [answer] = await once(call, 'data');
      expect(String(answer)).toBe(`re ${i}`);
    }
    call.resume();
    call.end();
    const [status] = await ended;
    expect(status).toMatchObject({ code: grpc.status.OK });
  });

  it.each([
    ['before anything', false],
    ['after a message', true],
  ])('an error %s: code, message in any script, details and trailers', async (_when, late) => {
    const details = Buffer.from([8, 5, 0x12, 1, 0x78]);
    const message = 'no such thing: Ärger 100% 日本\nline';
    const { client } = await meet({
      serverStream(call) {
        if (late) call.write(Buffer.from('part'));
        const error = { code: grpc.status.NOT_FOUND, details: message };
        call.emit('error', {
          ...error,
          metadata: metadata({ 'grpc-status-details-bin': [details], 'x-why': ['because'] }),
        });
      },
    });
    const { messages, status } = await collect(client.serverStream('m'));
    expect(messages.map(String)).toEqual(late ? ['part'] : []);
    expect(status).toMatchObject({ code: grpc.status.NOT_FOUND, details: message });
    expect(status.metadata.get('grpc-status-details-bin')).toEqual([details]);
    expect(status.metadata.get('x-why')).toEqual(['because']);
    expect(status.metadata.get('hedgerow-stop-reason')).toEqual(['no_policy']);
  });

  it('a method that the server has not is UNIMPLEMENTED, in the server’s words', async () => {
    const { client } = await meet({});
    const { code, details, trailers } = await client.unary('m');
    expect(code).toBe(grpc.status.UNIMPLEMENTED);
    expect(details).not.toMatch(/hedgerow/);
    expect(trailers.get('hedgerow-backend')).toEqual(['b']);
  });

  it('a deadline reaches the server, and ends a call that is too slow on both sides', async () => {
    const hour = 3_600_000;
    let left = 0;
    const cancelled: Promise<void>[] = [];
    const { client, proxy } = await meet({
      unary(call, done) {
        const deadline = call.getDeadline();
        left = Number(deadline) - Date.now();
        if (left > hour / 2) done(null, call.request);
        else cancelled.push(once(call, 'cancelled').then(() => {}));
      },
    });
    expect((await client.unary('m', undefined, { deadline: Date.now() + hour })).code).toBe(grpc.status.OK);
    expect(left).toBeGreaterThan(hour - 60_000);
    expect(left).toBeLessThanOrEqual(hour);
    const { code } = await client.unary('m', undefined, { deadline: Date.now() + 150 });
    expect(code).toBe(grpc.status.DEADLINE_EXCEEDED);
    await Promise.all(cancelled);
    // Client, proxy and server each keep the deadline; any may be first by a hair.
    expect([grpc.status.CANCELLED, grpc.status.DEADLINE_EXCEEDED]).toContain((await proxy.call(1)).code);
  });

  it('a cancel reaches the server at once, in the middle of a stream', async () => {
    const over: Promise<unknown>[] = [];
    const { client, proxy } = await meet({
      bidi(call) {
        over.push(once(call, 'cancelled'));
        call.on('data', (message: Buffer) => call.write(message));
      },
    });
    const call = client.bidi();
    call.write(Buffer.from('m'));
    await once(call, 'data');
    const ended = collect(call);
    call.cancel();
    expect((await ended).status.code).toBe(grpc.status.CANCELLED);
    await Promise.all(over);
    expect(over).toHaveLength(1);
    expect(await proxy.call(0)).toMatchObject({ reason: 'client_cancelled' });
  });

  it.each([0, 1, 16_384, 1_000_000, 4 * 1024 * 1024 - 16])('a message of %i bytes, there and back', async (size) => {
    const { client } = await meet({ unary: echo });
    const message = pattern(size);
    const { code, answer } = await client.unary(message);
    expect([code, answer?.equals(message)]).toEqual([grpc.status.OK, true]);
  });

  it('200 calls at a time, each with its own answer, on one connection', async () => {
    let open = 0;
    let most = 0;
    const waiting: (() => void)[] = [];
    const { client, proxy } = await meet({
      unary(call, done) {
        open += 1;
        most = Math.max(most, open);
        waiting.push(() => done(null, call.request));
        // The first answers are given when all are here: grpc-js takes 200 streams at once.
        if (open === 200) for (const answer of waiting) answer();
      },
    });
    const outcomes = await Promise.all(Array.from({ length: 200 }, (_, i) => client.unary(`call ${i}`)));
    expect(outcomes.map(({ answer }) => String(answer))).toEqual(outcomes.map((_, i) => `call ${i}`));
    expect(most).toBe(200);
    expect(proxy.app.ledger().clients).toBe(1);
  });
});

describe('grpc-js and the retries of the proxy', () => {
  it('a flaky server: the client, whose own retries are off, sees only the success', async () => {
    const previous: unknown[][] = [];
    const { client } = await meet(
      {
        unary(call, done) {
          previous.push(call.metadata.get('grpc-previous-rpc-attempts'));
          if (previous.length < 3) done({ code: grpc.status.UNAVAILABLE, details: 'not yet' });
          else done(null, call.request);
        },
      },
      { serviceConfig: retry({ attempts: 4 }) },
    );
    const { code, answer, trailers } = await client.unary('again');
    expect([code, String(answer), trailers.get('hedgerow-retries')]).toEqual([grpc.status.OK, 'again', ['2']]);
    expect(previous).toEqual([[], ['1'], ['2']]);
  });

  it('a server that stays down: the last failure, and why it was the last', async () => {
    let attempts = 0;
    const { client } = await meet(
      {
        unary(_call, done) {
          attempts += 1;
          done({ code: grpc.status.UNAVAILABLE, details: `failure ${attempts}` });
        },
      },
      { serviceConfig: retry({ attempts: 3 }) },
    );
    const { code, details, trailers } = await client.unary('m');
    expect([code, details, attempts]).toEqual([grpc.status.UNAVAILABLE, 'failure 3', 3]);
    expect(trailers.get('hedgerow-retries')).toEqual(['2']);
    expect(trailers.get('hedgerow-stop-reason')).toEqual(['attempts_exhausted']);
  });

  it('a client stream is sent again whole', async () => {
    const got: string[][] = [];
    const { client } = await meet(
      {
        clientStream(call, done) {
          const messages: string[] = [];
          got.push(messages);
          call.on('data', (message: Buffer) => messages.push(String(message)));
          call.on('end', () => {
            if (got.length < 2) done({ code: grpc.status.UNAVAILABLE, details: 'once more' });
            else done(null, Buffer.from('thanks'));
          });
        },
      },
      { serviceConfig: retry() },
    );
    const { code, answer } = await client.clientStream((call) => {
      for (const message of ['a', 'b', 'c']) call.write(Buffer.from(message));
      call.end();
    });
    expect([code, String(answer)]).toEqual([grpc.status.OK, 'thanks']);
    expect(got).toEqual([
      ['a', 'b', 'c'],
      ['a', 'b', 'c'],
    ]);
  });

  it('a server that is killed: another one answers', async () => {
    const [dying, living] = [
      await startGrpcJsServer({ unary: () => dying.stop() }),
      await startGrpcJsServer({ unary: echo }),
    ];
    servers.push(dying, living);
    const ports = [
      { name: 'dying', port: dying.port },
      { name: 'living', port: living.port },
    ];
    const proxy = await proxyTo(ports, { serviceConfig: retry() });
    const client = clientOf(proxy);
    const outcomes = [];
    for (let i = 0; i < 4; i += 1) outcomes.push(await client.unary(`${i}`));
    expect(outcomes.map(({ answer }) => String(answer))).toEqual(['0', '1', '2', '3']);
    expect(proxy.calls.some(({ retries }) => retries === 1)).toBe(true);
  });
});

describe('grpc-js and compression', () => {
  const gzip = { 'grpc.default_compression_algorithm': grpc.compressionAlgorithms.gzip };

  it('a compressed request arrives compressed; the server reads it', async () => {
    const message = Buffer.alloc(50_000, 'compress me ');
    const b = await backend({ name: 'b' });
    b.behave(async (stream) => {
      await stream.whenEnded();
      stream.block(
        [
          [':status', '200'],
          ['content-type', 'application/grpc'],
          ['grpc-encoding', 'gzip'],
        ],
        false,
      );
      await stream.sendData(frameMessage(gzipSync(Buffer.from('small')), true));
      stream.trailers(0);
    });
    const client = clientOf(await proxyTo([b]), gzip);
    const { code, answer } = await client.unary(message);
    expect([code, String(answer)]).toEqual([grpc.status.OK, 'small']);
    const [stream] = b.streams;
    expect(stream?.header('grpc-encoding')).toBe('gzip');
    expect(stream?.header('grpc-accept-encoding')).toMatch(/gzip/);
    expect(stream?.data[0]).toBe(1);
    expect(stream?.data.length).toBeLessThan(5000);
    expect(gunzipSync(stream?.messages[0] ?? Buffer.alloc(0)).equals(message)).toBe(true);

    const server = await startGrpcJsServer({ unary: echo });
    servers.push(server);
    const second = clientOf(await proxyTo([{ name: 's', port: server.port }]), gzip);
    expect((await second.unary(message)).answer?.equals(message)).toBe(true);
  });
});

describe('grpc-js and the proxy’s life', () => {
  it('a client waits for a ready connection, and is idle again after a drain that let its call finish', async () => {
    const held: (() => void)[] = [];
    const started: (() => void)[] = [];
    const begun = new Promise<void>((resolve) => started.push(resolve));
    const { client, proxy } = await meet({
      unary(call, done) {
        held.push(() => done(null, call.request));
        started[0]?.();
      },
    });
    await new Promise<void>((resolve, reject) => {
      client.raw.waitForReady(Date.now() + 10_000, (error) => (error === undefined ? resolve() : reject(error)));
    });
    const channel = client.raw.getChannel();
    expect(channel.getConnectivityState(false)).toBe(grpc.connectivityState.READY);
    const call = client.unary('finish me');
    await begun;
    const left = new Promise<void>((resolve, reject) => {
      channel.watchConnectivityState(grpc.connectivityState.READY, Date.now() + 10_000, (error) =>
        error === undefined ? resolve() : reject(error),
      );
    });
    const drained = proxy.app.drain();
    // GOAWAY takes the channel out of READY while the call goes on.
    await left;
    held[0]?.();
    expect(await call).toMatchObject({ code: grpc.status.OK, answer: Buffer.from('finish me') });
    await drained;
    expect((await client.unary('too late')).code).toBe(grpc.status.UNAVAILABLE);
  });

  it('no call fails while one proxy drains and another takes its place on the same port', async () => {
    const server = await startGrpcJsServer({ unary: echo });
    servers.push(server);
    const at = [{ name: 'b', port: server.port }];
    const first = await proxyTo(at);
    const client = clientOf(first, { 'grpc.initial_reconnect_backoff_ms': 100 });
    const before = await Promise.all(Array.from({ length: 20 }, (_, i) => client.unary(`${i}`)));
    await first.app.drain();
    await proxyTo(at, { flags: ['--listen', `127.0.0.1:${first.port}`] });
    const waiting = new grpc.Metadata({ waitForReady: true });
    const after = await Promise.all(Array.from({ length: 20 }, (_, i) => client.unary(`${i}`, waiting)));
    expect([...before, ...after].map(({ code }) => code)).toEqual(Array(40).fill(grpc.status.OK));
  });
});
