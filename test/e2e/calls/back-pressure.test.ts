import { createHash } from 'node:crypto';
import http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import v8 from 'node:v8';
import vm from 'node:vm';
import { afterEach, describe, expect, it } from 'vitest';
import { alive } from '../../support/alive.js';
import { Type } from '../../support/frames.js';
import { frameMessage } from '../../support/grpc-lines.js';
import type { RawConnection } from '../../support/raw-connection.js';
import { behave } from '../../support/raw-peer.js';
import { client, method, one, pattern, proxyTo, retry, still } from '../../support/rig.js';

const firstWindow = 65_535;
/** What we advertise for a stream (design §4). */
const streamWindow = 262_144;

function hash(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Window that the proxy has given back on one stream. */
function givenBack(connection: RawConnection, streamId: number): number {
  return connection.frames
    .filter((frame) => frame.type === Type.windowUpdate && frame.streamId === streamId)
    .reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0);
}

describe('A slow backend', () => {
  it('BUF-22: before commit the client is read to the limit and then granted no more window; nothing fails', async () => {
    const {
      backend: b,
      client: c,
      proxy,
    } = await one({
      backend: { windows: 'connection' },
      proxy: { serviceConfig: retry(), flags: ['--per-call-buffer-limit', '200000'] },
    });
    b.behave(behave.silent);
    const sent = pattern(1_000_000);
    const call = c.call(method, { messages: [sent] });
    const stream = await b.nextStream();
    await stream.whenData(firstWindow);
    await still(proxy, c, [b]);
    const { replayBytes, relayBytes } = proxy.app.ledger();
    expect(replayBytes).toBe(200_000 - firstWindow);
    // A call holds at most its limit plus one window (design §4), and it was read at least to the limit.
    expect(relayBytes).toBeGreaterThan(0);
    expect(replayBytes + relayBytes).toBeLessThanOrEqual(200_000 - firstWindow + streamWindow);
    expect(givenBack(c.connection, call.id)).toBeLessThanOrEqual(200_000);
    expect(call.end).toBeNull();
    stream.raw.giveWindow(2_000_000);
    await stream.whenEnded();
    expect(hash(stream.data)).toBe(hash(frameMessage(sent)));
    stream.trailersOnly(0);
    expect((await call.done()).status).toBe(0);
  });

  it('BUF-22: in a backoff too the client is granted no more than limit and window', async () => {
    const {
      backend: b,
      client: c,
      proxy,
    } = await one({ proxy: { serviceConfig: retry(), flags: ['--per-call-buffer-limit', '200000'] } });
    b.behave(behave.fail(14, [['grpc-retry-pushback-ms', '60000']]));
    const call = c.call(method, { end: false });
    await (await b.nextStream()).connection.ping();
    void call.sendData(frameMessage(pattern(1_000_000)));
    await still(proxy, c, [b]);
    const { replayBytes, relayBytes } = proxy.app.ledger();
    expect(replayBytes).toBe(200_000);
    expect(relayBytes).toBeGreaterThan(0);
    expect(relayBytes).toBeLessThanOrEqual(streamWindow);
    expect(call.end).toBeNull();
    call.reset();
    await proxy.call(0);
  });

  it('BR-52: after commit holds its own call’s client back to one window, and no other call', async () => {
    const { backend: b, client: c, proxy } = await one({ backend: { windows: 'connection' } });
    b.behave(async (stream) => {
      if (stream.header('x-slow') === undefined) await behave.echo(stream);
      else stream.sendHeaders();
    });
    const call = c.call(method, { headers: [['x-slow', '1']], end: false });
    await call.whenHeaders();
    const sent = pattern(1_000_000);
    void call.sendData(frameMessage(sent), true);
    const stream = await b.waitForStream(1);
    await stream.whenData(firstWindow);
    await still(proxy, c, [b]);
    // What was passed on counts as given back, in batches of half a window: under one batch here.
    expect(proxy.app.ledger()).toMatchObject({ replayBytes: 0, relayBytes: streamWindow - firstWindow });
    expect(givenBack(c.connection, call.id)).toBe(0);
    const other = await c.call(method, { messages: [pattern(20_000, 2)] }).done();
    expect(other.messages).toEqual([pattern(20_000, 2)]);
    stream.raw.giveWindow(2_000_000);
    await stream.whenEnded();
    expect(hash(stream.data)).toBe(hash(frameMessage(sent)));
    stream.trailers(0);
    expect((await call.done()).status).toBe(0);
  });
});

describe('A slow client', () => {
  it('BR-52: holds its own call’s backend back to one window, and no other call', async () => {
    const { backend: b, client: c, proxy } = await one({ client: { windows: 'connection' } });
    const sent = pattern(1_000_000);
    b.behave(async (stream) => {
      if (stream.header('x-slow') === undefined) return behave.echo(stream);
      stream.sendHeaders();
      void stream.sendData(frameMessage(sent));
      stream.trailers(0);
    });
    const call = c.call(method, { headers: [['x-slow', '1']] });
    await call.whenData(firstWindow);
    await still(proxy, c, [b]);
    const stream = await b.waitForStream(1);
    expect(proxy.app.ledger().relayBytes).toBe(streamWindow - firstWindow);
    expect(givenBack(stream.connection, stream.id)).toBe(0);
    const other = await c.call(method, { messages: [pattern(20_000, 2)] }).done();
    expect(other.messages).toEqual([pattern(20_000, 2)]);
    expect(call.data).toHaveLength(firstWindow);
    call.raw.giveWindow(2_000_000);
    await call.done();
    expect(call.status).toBe(0);
    expect(hash(call.data)).toBe(hash(frameMessage(sent)));
  });

  it('BUF-24: --relay-buffer-limit: over it a stream gets no new window while bytes of its own wait; others have theirs', async () => {
    const {
      backend: b,
      client: c,
      proxy,
    } = await one({
      client: { windows: 'connection' },
      proxy: { flags: ['--relay-buffer-limit', '100KiB'] },
    });
    const sent = pattern(600_000);
    b.behave((stream) => {
      stream.sendHeaders();
      void stream.sendData(frameMessage(sent));
      stream.trailers(0);
    });
    const slow = c.call(method);
    await slow.whenData(firstWindow);
    const first = await b.waitForStream(1);
    await still(proxy, c, [b]);
    expect(proxy.app.ledger().relayBytes).toBe(streamWindow - firstWindow);
    slow.raw.giveWindow(80_000);
    await slow.whenData(firstWindow + 80_000);
    await still(proxy, c, [b]);
    // More than half a window, which is when it would be given back.
    expect(givenBack(first.connection, first.id)).toBe(0);
    const fast = c.call(method);
    fast.raw.giveWindow(2_000_000);
    await fast.done();
    expect(hash(fast.data)).toBe(hash(frameMessage(sent)));
    expect(givenBack(first.connection, first.id)).toBe(0);
    slow.raw.giveWindow(2_000_000);
    await slow.done();
    expect(hash(slow.data)).toBe(hash(frameMessage(sent)));
    expect(b.streams.map(({ raw }) => raw.end)).toEqual([{ kind: 'ended' }, { kind: 'ended' }]);
  });

  it('BUF-24: --relay-buffer-limit: bytes of requests count as those of answers', async () => {
    const {
      backend: b,
      client: c,
      proxy,
    } = await one({
      backend: { windows: 'connection' },
      proxy: { flags: ['--relay-buffer-limit', '100KiB'] },
    });
    b.behave((stream) => {
      stream.sendHeaders();
      if (stream.header('x-fast') !== undefined) stream.raw.giveWindow(2_000_000);
    });
    const sent = pattern(600_000);
    const slow = c.call(method, { end: false });
    await slow.whenHeaders();
    void slow.sendData(frameMessage(sent), true);
    const first = await b.waitForStream(1);
    await first.whenData(firstWindow);
    first.raw.giveWindow(80_000);
    await first.whenData(firstWindow + 80_000);
    await still(proxy, c, [b]);
    expect(givenBack(c.connection, slow.id)).toBe(0);
    const fast = c.call(method, { headers: [['x-fast', '1']], end: false });
    await fast.whenHeaders();
    void fast.sendData(frameMessage(sent), true);
    const second = await b.waitForStream(2);
    await second.whenEnded();
    expect(givenBack(c.connection, slow.id)).toBe(0);
    first.raw.giveWindow(2_000_000);
    await first.whenEnded();
    for (const stream of [first, second]) {
      expect(hash(stream.data)).toBe(hash(frameMessage(sent)));
      stream.trailers(0);
    }
    await Promise.all([slow.done(), fast.done()]);
  });

  it('BUF-24: --relay-buffer-limit: clients that do not read hold it; the answers of another come whole, and the log names who holds most', async () => {
    const {
      backend: b,
      client: deaf,
      proxy,
    } = await one({
      client: { windows: 'connection' },
      proxy: { flags: ['--relay-buffer-limit', '1MiB'] },
    });
    const sent = pattern(1_000_000);
    b.behave((stream) => {
      stream.sendHeaders();
      void stream.sendData(frameMessage(sent));
      stream.trailers(0);
    });
    const calls = Array.from({ length: 10 }, () => deaf.call(method));
    for (const call of calls) await call.whenData(firstWindow);
    await still(proxy, deaf, [b]);
    const { relayBytes } = proxy.app.ledger();
    expect(relayBytes).toBe(10 * (streamWindow - firstWindow));
    const honest = await client(proxy);
    for (let n = 0; n < 3; n += 1) expect(hash((await honest.call(method).done()).data)).toBe(hash(frameMessage(sent)));
    expect(proxy.app.ledger().relayBytes).toBe(relayBytes);
    expect(proxy.lines).toEqual([
      {
        level: 'warn',
        fields: { peer: expect.stringMatching(/^127\.0\.0\.1:\d+$/) },
        message: expect.stringMatching(
          /^a client has the most bytes waiting for a peer: \d{7} of \d{7} in all, more than --relay-buffer-limit; streams/,
        ),
      },
    ]);
    // It is an error for nobody.
    for (const call of calls) call.raw.giveWindow(2_000_000);
    for (const call of calls) expect(hash((await call.done()).data)).toBe(hash(frameMessage(sent)));
  });
});

describe('A long upload', () => {
  const closers: (() => void)[] = [];
  afterEach(() => {
    for (const close of closers.splice(0)) close();
  });

  v8.setFlagsFromString('--expose-gc');
  const collect = vm.runInNewContext('gc') as () => void;
  /** Buffers that one collection finds dead are counted out after the turn. */
  async function heldBytes(): Promise<number> {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
    collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  }

  it('BUF-12: leaves nothing behind once the call is committed, however long it lasts', async () => {
    // Peers that keep nothing: all that grows is the proxy's.
    const server = http2.createServer();
    closers.push(() => server.close());
    let received = 0;
    let gather = Number.POSITIVE_INFINITY;
    let gathered: () => void = () => {};
    server.on('stream', (stream) => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
      stream.on('data', (chunk: Buffer) => {
        received += chunk.length;
        if (received >= gather) gathered();
      });
      stream.on('end', () => stream.end());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const proxy = await proxyTo([{ name: 'b', port }], { serviceConfig: retry() });
    const session = http2.connect(`http://127.0.0.1:${proxy.port}`);
    closers.push(() => session.destroy());
    const request = session.request({
      ':method': 'POST',
      ':path': method,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    const answered = new Promise<http2.IncomingHttpHeaders>((resolve) => request.once('response', resolve));
    const ended = new Promise<http2.IncomingHttpHeaders>((resolve) => request.once('trailers', resolve));
    request.resume();
    expect((await alive('response headers', answered))[':status']).toBe(200);

    const piece = frameMessage(pattern(65_531));
    let total = 0;
    async function upload(pieces: number): Promise<void> {
      total += pieces * piece.length;
      gather = total;
      const all = new Promise<void>((resolve) => {
        gathered = resolve;
      });
      for (let nth = 0; nth < pieces; nth += 1) {
        if (!request.write(piece)) await alive('the client to drain', new Promise((go) => request.once('drain', go)));
      }
      await alive('the upload to arrive', all);
    }
    await upload(200);
    const early = await heldBytes();
    await upload(1000);
    const late = await heldBytes();
    expect(proxy.app.ledger()).toMatchObject({ calls: 1, replayBytes: 0, relayBytes: 0 });
    // 65 MB have passed; what is under way weighs a few.
    expect(late - early).toBeLessThan(16_000_000);
    request.end();
    expect((await alive('trailers', ended))['grpc-status']).toBe('0');
    expect(await proxy.call(0)).toMatchObject({ commit: 'headers', replayPeak: 0 });
  });
});
