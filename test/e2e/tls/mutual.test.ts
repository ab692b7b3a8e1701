import { once } from 'node:events';
import http2 from 'node:http2';
import net, { type AddressInfo } from 'node:net';
import tls from 'node:tls';
import * as grpc from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import type { FileContents } from '../../../src/app.js';
import { GrpcJsClient, startGrpcJsServer } from '../../support/grpc-js-peers.js';
import { startProxy, type TestProxy } from '../../support/proxy.js';
import { type CertificateName, certificate, privateKey } from '../../support/tls.js';

const ends: (() => void | Promise<void>)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const securedClients = {
  tlsCert: certificate('server'),
  tlsKey: privateKey('server'),
  tlsClientCa: certificate('ca'),
};
const securedBackends = {
  backendCa: certificate('ca'),
  backendCert: certificate('client-two'),
  backendKey: privateKey('client-two'),
};

/** Our address in what a client sends on: as a socket on loopback has it. */
const here = '127.0.0.1';

async function proxyTo(
  port: number,
  files: Partial<FileContents>,
  flags: readonly string[] = [],
  connected = true,
): Promise<TestProxy> {
  const proxy = await startProxy({ backends: { b: port }, flags, files, connected });
  ends.push(() => proxy.stop());
  return proxy;
}

/** What the backend has seen of each call. */
interface Seen {
  readonly metadata: grpc.Metadata;
}

/** A grpc-js server that wants a certificate of our CA, and answers a call with its message. */
async function backend(): Promise<{ readonly port: number; readonly seen: Seen[] }> {
  const identity = { private_key: Buffer.from(privateKey('server')), cert_chain: Buffer.from(certificate('server')) };
  const seen: Seen[] = [];
  const server = await startGrpcJsServer(
    {
      unary: ({ metadata, request }, done) => {
        seen.push({ metadata });
        done(null, request);
      },
      bidi: (call) => {
        call.on('data', (message: Buffer) => call.write(message));
        call.on('end', () => call.end());
      },
    },
    {},
    grpc.ServerCredentials.createSsl(Buffer.from(certificate('ca')), [identity], true),
  );
  ends.push(() => server.stop());
  return { port: server.port, seen };
}

/** Shows `name`, and takes our certificate for what it is. */
function clientAs({ port }: TestProxy, name: CertificateName): GrpcJsClient {
  const [key, chain] = [Buffer.from(privateKey(name)), Buffer.from(certificate(name))];
  const credentials = grpc.credentials.createSsl(Buffer.from(certificate('ca')), key, chain);
  const client = new GrpcJsClient(port, {}, credentials);
  ends.push(() => client.close());
  return client;
}

/** A plain TLS client, which tells how its connection ended. */
function handshake(proxy: TestProxy, options: tls.ConnectionOptions): { socket: tls.TLSSocket; closed: Promise<void> } {
  const socket = tls.connect({
    port: proxy.port,
    host: here,
    ca: certificate('ca'),
    ALPNProtocols: ['h2'],
    ...options,
  });
  socket.on('error', () => {});
  socket.resume();
  ends.push(() => void socket.destroy());
  return { socket, closed: new Promise((resolve) => socket.once('close', () => resolve())) };
}

function identity(name: CertificateName): { cert: string; key: string } {
  return { cert: certificate(name), key: privateKey(name) };
}

async function listening(server: net.Server): Promise<number> {
  server.listen(0, here);
  await once(server, 'listening');
  ends.push(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** The words of the first event of its backend. */
async function firstChange(proxy: TestProxy): Promise<string> {
  return (await proxy.change(0)).detail;
}

describe('mutual TLS on both sides, with grpc-js', () => {
  it('TLS-11, TLS-19: passes calls; the backend is told of the client by its certificate', async () => {
    const { port, seen } = await backend();
    const proxy = await proxyTo(port, { ...securedClients, ...securedBackends }, [
      ...['--backend-tls', '--forwarded', 'certificate'],
    ]);
    const metadata = new grpc.Metadata();
    metadata.set('x-forwarded-for', '6.6.6.6');
    metadata.set('x-forwarded-client-cert', 'Subject="CN=root"');
    const outcome = await clientAs(proxy, 'client').unary('hello', metadata);
    expect([outcome.code, String(outcome.answer)]).toEqual([grpc.status.OK, 'hello']);
    expect(seen[0]?.metadata.get('x-forwarded-for')).toEqual([here]);
    expect(seen[0]?.metadata.get('x-forwarded-client-cert')).toEqual([
      expect.stringMatching(
        /^Hash=[0-9a-f]{64};Subject="CN=orders,.*";URI=spiffe:\/\/hedgerow\.test\/orders;DNS=orders\.test/,
      ),
    ]);
    expect(proxy.refused).toEqual([]);
  });

  it.each([
    ['TLS-06', 'no certificate', null, /showed no certificate, which --tls-client-ca asks for$/],
    ['TLS-07', 'one of another CA', 'stranger', /a certificate that is not from a CA in --tls-client-ca$/],
    ['TLS-07', 'one that has expired', 'expired', /a certificate that has expired$/],
    ['TLS-07', 'one for servers', 'server-two', /a certificate that is not one for clients \(extendedKeyUsage\)$/],
  ] as const)(
    '%s: a client with %s is refused in the handshake, with one line that names it',
    async (_id, _what, name, words) => {
      for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
        const proxy = await proxyTo(9, securedClients, [], false);
        const { closed } = handshake(proxy, { maxVersion, ...(name === null ? {} : identity(name)) });
        await closed;
        expect(await proxy.refusal(0)).toMatch(words);
        expect(proxy.refused).toEqual([expect.stringMatching(/^127\.0\.0\.1:\d+: /)]);
      }
    },
  );

  it.each([
    ['none', {}, /(asks for a certificate|ask for a certificate|ask for --backend-cert)/],
    ['one of another CA', { backendCert: 'stranger', backendKey: 'stranger' }, /our certificate/],
  ] as const)(
    'TLS-12: a backend that is shown %s refuses us, and the log says what to do',
    async (_what, names, words) => {
      const { port } = await backend();
      const own = Object.fromEntries(
        Object.entries(names).map(([key, name]) => [key, key === 'backendKey' ? privateKey(name) : certificate(name)]),
      );
      const proxy = await proxyTo(port, { backendCa: certificate('ca'), ...own }, ['--backend-tls'], false);
      expect(await firstChange(proxy)).toMatch(words);
      expect(await firstChange(proxy)).toContain('--backend-cert');
      expect(await firstChange(proxy)).not.toMatch(/\.c:\d|\n/);
    },
  );

  it('TLS-08, TLS-09, TLS-10: a backend whose certificate is of another CA, has expired, or names another host, is not used', async () => {
    const { port } = await backend();
    const otherCa = await proxyTo(
      port,
      { ...securedBackends, backendCa: certificate('other-ca') },
      ['--backend-tls'],
      false,
    );
    expect(await firstChange(otherCa)).toMatch(/unknown issuer; see --backend-ca/);
    const otherName = await proxyTo(port, securedBackends, ['--backend-tls', '--backend-server-name', 'a.test'], false);
    expect(await firstChange(otherName)).toMatch(/for another name; see --backend-server-name/);
    const otherAddress = await proxyTo(
      port,
      securedBackends,
      ['--backend-tls', '--backend-server-name', '127.0.0.2'],
      false,
    );
    expect(await firstChange(otherAddress)).toMatch(/for another name; see --backend-server-name/);
    const address = await proxyTo(
      port,
      securedBackends,
      ['--backend-tls', '--backend-server-name', '127.0.0.1'],
      false,
    );
    expect(await address.change(0)).toMatchObject({ event: 'connected' });
    const old = await listening(tls.createServer({ ...identity('expired'), ALPNProtocols: ['h2'] }));
    expect(await firstChange(await proxyTo(old, securedBackends, ['--backend-tls'], false))).toMatch(/has expired/);
  });
});

describe('TLS on one side only of a connection to a backend', () => {
  it('TLS-14: cleartext to a TLS port is told, by the alert or by the silence', async () => {
    const secure = await listening(http2.createSecureServer(identity('server')));
    expect(await firstChange(await proxyTo(secure, {}, [], false))).toMatch(/TLS.*--backend-tls/);
    const alerting = await listening(
      net.createServer((socket) => {
        socket.on('error', () => {});
        socket.end(Buffer.from([0x15, 3, 1, 0, 2, 2, 70]));
      }),
    );
    expect(await firstChange(await proxyTo(alerting, {}, [], false))).toMatch(
      /connect failed: it speaks TLS; see --backend-tls$/,
    );
  });

  it('TLS-13: TLS to a cleartext port is told, whether it answers in HTTP/2 or hangs up', async () => {
    const plain = await listening(http2.createServer() as unknown as net.Server);
    const files = { backendCa: certificate('ca') };
    expect(await firstChange(await proxyTo(plain, files, ['--backend-tls'], false))).toMatch(/does not speak TLS/);
    const deaf = net.createServer((socket) => {
      socket.on('error', () => {});
      socket.once('data', () => socket.destroy());
    });
    expect(await firstChange(await proxyTo(await listening(deaf), files, ['--backend-tls'], false))).toMatch(
      /closed the connection in the TLS handshake; does it speak TLS\?/,
    );
  });
});

describe('other certificates while the proxy runs', () => {
  it('TLS-15: are shown to new clients; a stream that is open goes on over the old connection', async () => {
    const { port } = await backend();
    const proxy = await proxyTo(port, { ...securedClients, ...securedBackends }, ['--backend-tls']);
    const call = clientAs(proxy, 'client').bidi();
    call.on('error', () => {});
    call.write(Buffer.from('before'));
    expect(String((await once(call, 'data'))[0])).toBe('before');
    proxy.app.secureClients({
      ...securedClients,
      tlsCert: certificate('server-two'),
      tlsKey: privateKey('server-two'),
    });
    const { socket } = handshake(proxy, identity('client'));
    await once(socket, 'secureConnect');
    expect(socket.getPeerCertificate().subject.CN).toBe('server two');
    call.write(Buffer.from('after'));
    expect(String((await once(call, 'data'))[0])).toBe('after');
    const status = once(call, 'status');
    call.end();
    expect((await status)[0]).toMatchObject({ code: grpc.status.OK });
  });

  it('TLS-18: of another CA for clients let nobody in by an old session', async () => {
    const proxy = await proxyTo(9, securedClients, [], false);
    const first = handshake(proxy, identity('client'));
    const [session] = await once(first.socket, 'session');
    const again = handshake(proxy, { ...identity('client'), session });
    await once(again.socket, 'secureConnect');
    expect(again.socket.isSessionReused()).toBe(true);
    proxy.app.secureClients({ ...securedClients, tlsClientCa: certificate('other-ca') });
    const { closed } = handshake(proxy, { ...identity('client'), session });
    await closed;
    expect(await proxy.refusal(0)).toMatch(/not from a CA in --tls-client-ca/);
  });

  it('TLS-15: are shown to backends by new connections', async () => {
    const shown: (string | undefined)[] = [];
    const server = http2.createSecureServer({ ...identity('server'), ca: certificate('ca'), requestCert: true });
    const sessions: http2.ServerHttp2Session[] = [];
    server.on('session', (session) => {
      sessions.push(session);
      shown.push((session.socket as tls.TLSSocket).getPeerX509Certificate()?.subject);
    });
    const proxy = await proxyTo(await listening(server), securedBackends, ['--backend-tls']);
    proxy.app.secureBackends({
      ...securedBackends,
      backendCert: certificate('client'),
      backendKey: privateKey('client'),
    });
    const lost = proxy.changes.length;
    sessions[0]?.destroy();
    for (let next = lost; (await proxy.change(next)).event !== 'connected'; next += 1);
    expect(shown).toEqual(['CN=client two', expect.stringMatching(/CN=orders$/)]);
  });
});

describe('via', () => {
  it('a call that comes back is refused, with the loop named, and is not sent on again', async () => {
    let back = 0;
    const relay = net.createServer((socket) => {
      const on = net.connect({ port: back, host: here });
      for (const end of [socket, on]) end.on('error', () => {});
      socket.pipe(on).pipe(socket);
    });
    const proxy = await startProxy({ backends: { b: await listening(relay) }, flags: ['--via'], connected: false });
    ends.push(() => proxy.stop());
    back = proxy.port;
    const client = new GrpcJsClient(proxy.port);
    ends.push(() => client.close());
    const metadata = new grpc.Metadata({ waitForReady: true });
    metadata.set('hedgerow-pin', 'b');
    const outcome = await client.unary('x', metadata);
    expect(outcome.code).toBe(grpc.status.INTERNAL);
    expect(outcome.details).toMatch(/a loop: .*via: 2 hedgerow-[0-9a-z]{6}/);
    // Once as the call, once as what came back: no third time.
    expect(proxy.calls.map(({ reason, origin }) => [reason, origin])).toEqual([
      ['malformed_request', 'proxy'],
      ['no_policy', 'backend'],
    ]);
  });
});
