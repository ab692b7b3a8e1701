import { once } from 'node:events';
import http2 from 'node:http2';
import net, { type AddressInfo } from 'node:net';
import * as grpc from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { GrpcJsClient, startGrpcJsServer } from '../../support/grpc-js-peers.js';
import { startProxy } from '../../support/proxy.js';
import { certificate, privateKey } from '../../support/tls.js';

/*
 * TLS connections that are up, and then get what is no part of them: OpenSSL's own words hold addresses and file names.
 */

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const here = '127.0.0.1';
const identity = { cert: certificate('server'), key: privateKey('server') };
const cleartext = Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n');
/** A record that looks like one of TLS 1.2 or 1.3, and decrypts to nothing (RFC 8446 5.2). */
const forged = Buffer.concat([Buffer.from([0x17, 3, 3, 0, 40]), Buffer.alloc(40, 7)]);

const whatComes = [
  ['cleartext', cleartext, /the peer sent what is no TLS \(ERR_SSL_(WRONG_VERSION_NUMBER|BAD_RECORD_TYPE)\)$/],
  ['a record that does not decrypt', forged, /TLS records were damaged on the way \(ERR_SSL_[A-Z_]+\)$/],
] as const;

/** Bytes pass it both ways; `inject` writes to the side that connected, or to the other. */
async function startRelay(
  port: number,
): Promise<{ port: number; inject(to: 'connected' | 'accepted', bytes: Buffer): void }> {
  const pairs: { readonly connected: net.Socket; readonly accepted: net.Socket }[] = [];
  const server = net.createServer((connected) => {
    const accepted = net.connect({ port, host: here });
    for (const socket of [connected, accepted]) socket.on('error', () => {});
    connected.on('close', () => accepted.destroy()).pipe(accepted);
    accepted.on('close', () => connected.destroy()).pipe(connected);
    pairs.push({ connected, accepted });
  });
  server.listen(0, here);
  await once(server, 'listening');
  ends.push(() => {
    server.close();
    for (const { connected } of pairs) connected.destroy();
  });
  return {
    port: (server.address() as AddressInfo).port,
    inject(to, bytes) {
      for (const pair of pairs) pair[to].write(bytes);
    },
  };
}

describe('a TLS connection that is up, and then gets', () => {
  it.each(whatComes)('TLS-20: %s from a backend: its calls end UNAVAILABLE, in words', async (_what, bytes, words) => {
    const backend = http2.createSecureServer(identity);
    const came = once(backend, 'stream');
    backend.on('session', (session) => {
      session.on('error', () => {});
      ends.push(() => session.destroy());
    });
    backend.on('stream', (stream) => stream.on('error', () => {}));
    backend.listen(0, here);
    await once(backend, 'listening');
    ends.push(() => void backend.close());
    const relay = await startRelay((backend.address() as AddressInfo).port);
    const proxy = await startProxy({
      backends: { b: relay.port },
      flags: ['--backend-tls'],
      files: { backendCa: certificate('ca') },
    });
    ends.push(() => proxy.stop());
    const client = new GrpcJsClient(proxy.port);
    ends.push(() => client.close());
    const outcome = client.unary('hello');
    await came;
    const before = proxy.changes.length;
    relay.inject('connected', bytes);
    expect(await outcome).toMatchObject({ code: grpc.status.UNAVAILABLE, details: expect.stringMatching(words) });
    expect(await proxy.change(before)).toMatchObject({ event: 'lost', detail: expect.stringMatching(words) });
  });

  it.each(whatComes)('TLS-20: %s from a client: its calls are cancelled, others go on', async (_what, bytes) => {
    const cancelled: Promise<unknown>[] = [];
    let arrived = (): void => {};
    const server = await startGrpcJsServer({
      unary: (call, done) => {
        if (String(call.request) === 'wait') cancelled.push(once(call, 'cancelled'));
        else done(null, call.request);
        arrived();
      },
    });
    ends.push(() => server.stop());
    const proxy = await startProxy({
      backends: { b: server.port },
      files: { tlsCert: identity.cert, tlsKey: identity.key },
    });
    ends.push(() => proxy.stop());
    const relay = await startRelay(proxy.port);
    const secure = grpc.credentials.createSsl(Buffer.from(certificate('ca')));
    const [victim, other] = [relay.port, proxy.port].map((port) => new GrpcJsClient(port, {}, secure));
    ends.push(() => victim?.close());
    ends.push(() => other?.close());
    const waits = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const outcome = victim?.unary('wait');
    await waits;
    relay.inject('accepted', bytes);
    // What the broken client makes of it is its own affair.
    expect((await outcome)?.code).not.toBe(grpc.status.OK);
    expect(await proxy.call(0)).toMatchObject({ reason: 'client_cancelled' });
    await Promise.all(cancelled);
    expect(await other?.unary('hello')).toMatchObject({ code: grpc.status.OK });
    expect(proxy.defects).toEqual([]);
  });
});
