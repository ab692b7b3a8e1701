import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http2 from 'node:http2';
import net from 'node:net';
import tls from 'node:tls';
import { fileURLToPath } from 'node:url';
import * as grpc from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { type Program, ran, serve } from '../../support/program.js';

const at = (name: string): string => fileURLToPath(new URL(`../../support/tls/${name}`, import.meta.url));
const cert = readFileSync(at('localhost.crt'), 'utf8');
const key = readFileSync(at('localhost.key'), 'utf8');
const down = ['--backend', 'b1=127.0.0.1:9'];
const secured = ['--tls-cert', 'a.crt', '--tls-key', 'a.key'];
const files = { 'a.crt': cert, 'a.key': key };

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0)) cleanup();
});

async function securely(program: Program, options: tls.ConnectionOptions): Promise<tls.TLSSocket> {
  const port = await program.port();
  const socket = tls.connect({ port, host: '127.0.0.1', ca: cert, servername: 'localhost', ...options });
  cleanups.push(() => socket.destroy());
  return socket;
}

/** The end of a socket, by an error too. */
function closed(socket: net.Socket): Promise<void> {
  socket.on('error', () => {});
  socket.resume();
  return new Promise((resolve) => {
    if (socket.closed) resolve();
    else socket.once('close', () => resolve());
  });
}

describe('TLS for clients', () => {
  it('TLS-01: speaks h2 by ALPN, with the certificate given', async () => {
    const program = await serve([...secured, ...down], { files });
    const session = http2.connect(`https://localhost:${await program.port()}`, { ca: cert });
    cleanups.push(() => session.destroy());
    await once(session, 'remoteSettings');
    expect(session.alpnProtocol).toBe('h2');
    const stream = session.request({
      ':method': 'POST',
      ':path': '/a.B/C',
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    stream.end();
    const [headers] = await once(stream, 'response');
    expect(headers).toMatchObject({ 'grpc-status': '14', 'hedgerow-stop-reason': 'no_backend' });
  });

  it('TLS-05: TLS 1.1 is refused, 1.2 and 1.3 are not', async () => {
    const program = await serve([...secured, ...down], { files });
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const fit = await securely(program, { ALPNProtocols: ['h2'], minVersion: version, maxVersion: version });
      await once(fit, 'secureConnect');
      expect(fit.getProtocol()).toBe(version);
    }
    // OpenSSL lets a client offer so old a version at its lowest security level alone.
    const old = { ciphers: 'DEFAULT@SECLEVEL=0', minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1' } as const;
    await closed(await securely(program, { ALPNProtocols: ['h2'], ...old }));
    const line = await program.line(({ msg }) => /^client refused/.test(String(msg)));
    expect(line).toMatchObject({ level: 40, msg: 'client refused: speaks no TLS version from 1.2 on' });
  });

  it.each([
    ['offers no ALPN', undefined, /did not offer the ALPN protocol h2/],
    ['offers http/1.1 alone', ['http/1.1'], /ALPN|the TLS handshake failed \(ERR_SSL/],
  ])('TLS-02: a client that %s is closed and logged', async (_what, protocols, words) => {
    const program = await serve([...secured, ...down], { files });
    const socket = await securely(program, protocols === undefined ? {} : { ALPNProtocols: protocols });
    await closed(socket);
    expect(await program.line(({ msg }) => words.test(String(msg)))).toMatchObject({ level: 40 });
  });

  it.each([
    ['HTTP/1.x', 'GET / HTTP/1.1\r\n\r\n', /spoke cleartext HTTP on a TLS port$/],
    ['cleartext HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', /on a TLS port$|\(ERR_SSL_[A-Z_]+\)$/],
  ])(
    'TLS-03: a client that speaks %s is closed and logged, without the words of OpenSSL',
    async (_what, bytes, words) => {
      const program = await serve([...secured, ...down], { files });
      const socket = net.connect({ port: await program.port(), host: '127.0.0.1' });
      socket.write(bytes);
      await closed(socket);
      expect(await program.line(({ msg }) => words.test(String(msg)))).toMatchObject({
        level: 40,
        peer: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
      });
    },
  );

  it('TLS-21: handshakes count against --max-connections, and do not hold up the exit', async () => {
    const program = await serve(['--max-connections', '1', ...secured, ...down], { files });
    const silent = net.connect({ port: await program.port(), host: '127.0.0.1' });
    silent.on('error', () => {});
    await once(silent, 'connect');
    const second = await securely(program, { ALPNProtocols: ['h2'] });
    await closed(second);
    expect(await program.line(({ msg }) => /--max-connections/.test(String(msg)))).toMatchObject({ level: 40 });
    program.signal('SIGTERM');
    expect(await program.exited()).toBe(0);
    silent.destroy();
  });
});

describe('a TLS file that is of no use: one line that names flag and file, exit 2', () => {
  const broken = {
    ...files,
    'broken.pem': '-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n',
    'empty.pem': '',
  };
  const start = (flags: readonly string[], more: Record<string, string> = {}): ReturnType<typeof ran> =>
    ran(['serve', '--admin', 'off', '--listen', '127.0.0.1:0', ...down, ...flags], { files: { ...broken, ...more } });

  it.each([
    [
      'a broken certificate',
      ['--tls-cert', 'broken.pem', '--tls-key', 'a.key'],
      /--tls-cert broken\.pem: holds no certificate/,
    ],
    ['an empty one', ['--tls-cert', 'empty.pem', '--tls-key', 'a.key'], /--tls-cert empty\.pem: holds no certificate/],
    [
      'a key for a certificate',
      ['--tls-cert', 'a.key', '--tls-key', 'a.key'],
      /--tls-cert a\.key: holds no certificate/,
    ],
    ['a broken key', ['--tls-cert', 'a.crt', '--tls-key', 'broken.pem'], /--tls-key broken\.pem: holds no private key/],
    [
      'a CA that is none',
      ['--backend-tls', '--backend-ca', 'broken.pem'],
      /--backend-ca broken\.pem: holds no certificate/,
    ],
    ['a certificate without a key', ['--tls-cert', 'a.crt'], /--tls-cert.*--tls-key/],
  ])('%s', async (_what, flags, words) => {
    const end = await start(flags);
    expect(end).toMatchObject({ code: 2, out: '' });
    expect(end.err).toMatch(/^hedgerow serve: [^\n]+\n$/);
    expect(end.err).toMatch(words);
  });

  it.each([
    ['a key of another certificate', {}, /--tls-key other\.key: is not the key of.*a\.crt\n$/],
    ['a locked key', { cipher: 'aes-256-cbc', passphrase: 'x' }, /--tls-key other\.key: is locked by a passphrase/],
  ])('%s', async (_what, lock, words) => {
    const { privateKey } = generateKeyPairSync('ec', {
      namedCurve: 'P-256',
      privateKeyEncoding: { type: 'pkcs8', format: 'pem', ...lock },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    const end = await start(['--tls-cert', 'a.crt', '--tls-key', 'other.key'], { 'other.key': privateKey });
    expect(end).toMatchObject({ code: 2, out: '', err: expect.stringMatching(words) });
  });
});

describe('TLS to backends', () => {
  async function backend(): Promise<string> {
    const server = new grpc.Server();
    const raw = {
      requestSerialize: same,
      requestDeserialize: same,
      responseSerialize: same,
      responseDeserialize: same,
    };
    const echo = { path: '/a.B/C', requestStream: false, responseStream: false, ...raw } as const;
    server.addService(
      { echo },
      {
        echo: (call: grpc.ServerUnaryCall<Buffer, Buffer>, done: grpc.sendUnaryData<Buffer>) =>
          done(null, call.request),
      },
    );
    const identity = { private_key: Buffer.from(key), cert_chain: Buffer.from(cert) };
    const port = await new Promise<number>((resolve, reject) =>
      server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createSsl(null, [identity]), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      ),
    );
    cleanups.push(() => server.forceShutdown());
    return `b=127.0.0.1:${port}`;
  }

  async function call(program: Program): Promise<string | grpc.ServiceError> {
    const client = new grpc.Client(`127.0.0.1:${await program.port()}`, grpc.credentials.createInsecure());
    cleanups.push(() => client.close());
    return new Promise((resolve) =>
      client.makeUnaryRequest('/a.B/C', same, same, Buffer.from('hello'), (error, answer) =>
        resolve(error ?? String(answer)),
      ),
    );
  }

  const trusting = ['--backend-tls', '--backend-ca', 'ca.crt'];

  it.each([[[]], [['--backend-server-name', 'localhost']]])(
    'with the CA and server name %j: calls go through',
    async (more) => {
      const program = await serve(['--backend', await backend(), ...trusting, ...more], { files: { 'ca.crt': cert } });
      await program.line(({ event }) => event === 'connected');
      expect(await call(program)).toBe('hello');
    },
  );

  it('with another server name, or a CA that is not its: UNAVAILABLE, with the reason in the log', async () => {
    const target = await backend();
    const wrongName = await serve(['--backend', target, ...trusting, '--backend-server-name', 'other.example'], {
      files: { 'ca.crt': cert },
    });
    const line = await wrongName.line(({ event }) => event === 'connect_failed');
    expect(line).toMatchObject({ level: 40, msg: expect.stringMatching(/certificate is for another name/) });
    expect(await call(wrongName)).toMatchObject({ code: grpc.status.UNAVAILABLE });
    const untrusted = await serve(['--backend', target, '--backend-tls']);
    expect(await untrusted.line(({ event }) => event === 'connect_failed')).toMatchObject({
      msg: expect.stringMatching(/certificate/),
    });
  });
});

function same(bytes: Buffer): Buffer {
  return bytes;
}
