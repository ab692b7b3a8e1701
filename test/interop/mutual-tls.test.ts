import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { startProxy, type TestProxy } from '../support/proxy.js';
import { certificate, identityFiles, privateKey } from '../support/tls.js';
import { watch } from './complaints.js';
import { startSecuredBackend } from './flaky-backends.js';
import { Peer, programs, type Reply } from './peer.js';

const languages = ['grpc-go', 'grpcio'] as const;
const clients = { 'grpc-go': new Peer(programs.goChannel), grpcio: new Peer(programs.python) };
const ca = identityFiles('ca').cert;

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});
afterAll(async () => {
  for (const client of Object.values(clients)) await client.close();
});

/** Before a backend that asks for a certificate; asks its clients for one, too. */
async function proxyTo(
  of: (typeof languages)[number],
  showing: 'client-two' | null,
  expected: readonly RegExp[] = [],
): Promise<TestProxy> {
  const backend = await startSecuredBackend(of, { ca, ...identityFiles('server') });
  cleanups.push(() => backend.stop());
  const proxy = await startProxy({
    backends: { b: backend.port },
    flags: ['--backend-tls'],
    files: {
      tlsCert: certificate('server'),
      tlsKey: privateKey('server'),
      tlsClientCa: certificate('ca'),
      backendCa: certificate('ca'),
      ...(showing === null ? {} : { backendCert: certificate(showing), backendKey: privateKey(showing) }),
    },
    connected: showing !== null,
  });
  cleanups.push(() => proxy.stop());
  return watch(proxy, expected);
}

/** Opens a channel of its own for the call. */
async function call(
  client: Peer,
  { port }: TestProxy,
  own: { readonly cert?: string; readonly key?: string },
  kind: 'unary' | 'serverStream',
): Promise<Reply> {
  const channel = client.newChannel();
  await client.ask({ op: 'open', channel, target: `127.0.0.1:${port}`, noRetries: true, tls: { ca, ...own } }).reply;
  const method = `/hedgerow.interop.Flaky/${kind === 'unary' ? 'Unary' : 'Thrice'}`;
  const metadata = [['call-id', `${client.name} ${channel}`]] as const;
  const reply = await client.ask({ op: 'call', channel, method, kind, message: 'hi', metadata }).reply;
  await client.ask({ op: 'close', channel }).reply;
  return reply;
}

describe.each(languages)('before a %s backend that asks for a certificate', (of) => {
  it.each(languages)('calls of a %s client with one come through', async (by) => {
    const proxy = await proxyTo(of, 'client-two');
    const own = identityFiles('client');
    expect(await call(clients[by], proxy, own, 'unary')).toMatchObject({ status: 0, messages: ['Unary 2 hi'] });
    expect(await call(clients[by], proxy, own, 'serverStream')).toMatchObject({
      status: 0,
      messages: ['1 of 3', '2 of 3', 'Thrice 2 hi'],
    });
    expect(proxy.refused).toEqual([]);
  });

  it.each([
    ['grpc-go', 'without one', {}, /showed no certificate, which --tls-client-ca asks for$/],
    ['grpcio', 'without one', {}, /showed no certificate, which --tls-client-ca asks for$/],
    // Go keeps back a certificate of a CA that the server does not name.
    ['grpc-go', 'with one of another CA', identityFiles('stranger'), /showed no certificate, which --tls-client-ca/],
    ['grpcio', 'with one of another CA', identityFiles('stranger'), /that is not from a CA in --tls-client-ca$/],
  ] as const)('a %s client %s is refused in the handshake', async (by, _which, own, words) => {
    const proxy = await proxyTo(of, 'client-two', [words]);
    expect((await call(clients[by], proxy, own, 'unary')).status).toBe(14);
    expect(await proxy.refusal(0)).toMatch(words);
    expect(proxy.calls).toEqual([]);
  });

  it('the proxy without one is refused, and the log says what to do', async () => {
    const proxy = await proxyTo(of, null);
    expect((await proxy.change(0)).detail).toMatch(/--backend-cert/);
  });
});
