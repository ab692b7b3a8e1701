import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { type LogLine, type Program, serve } from '../../support/program.js';
import { behave, startRawBackend } from '../../support/raw-peer.js';
import { type CertificateName, certificate, privateKey } from '../../support/tls.js';

const ends: (() => void | Promise<void>)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

const down = ['--backend', 'b=127.0.0.1:9'];
const secured = ['--tls-cert', 'a.crt', '--tls-key', 'a.key', '--tls-client-ca', 'ca.crt'];
const files = { 'a.crt': certificate('server'), 'a.key': privateKey('server'), 'ca.crt': certificate('ca') };

function put(program: Program, name: string, text: string): Promise<void> {
  return writeFile(path.join(program.directory, name), text);
}

function handshake(port: number, name: CertificateName = 'client'): tls.TLSSocket {
  const socket = tls.connect({
    port,
    host: '127.0.0.1',
    ca: certificate('ca'),
    ALPNProtocols: ['h2'],
    cert: certificate(name),
    key: privateKey(name),
  });
  socket.on('error', () => {});
  ends.push(() => void socket.destroy());
  return socket;
}

/** Whose certificate a new client is shown. */
async function shown(program: Program): Promise<unknown> {
  const socket = handshake(await program.port());
  await once(socket, 'secureConnect');
  return socket.getPeerCertificate().subject.CN;
}

function saying(words: RegExp): (line: LogLine) => boolean {
  return ({ msg }) => words.test(String(msg));
}

describe('certificates that change', () => {
  it('TLS-17: written one after the other are taken together, without a word about the time between', async () => {
    const program = await serve([...secured, ...down], { files });
    expect(await shown(program)).toBe('server one');
    const session = http2.connect(`https://127.0.0.1:${await program.port()}`, {
      ca: certificate('ca'),
      cert: certificate('client'),
      key: privateKey('client'),
    });
    ends.push(() => session.destroy());
    await once(session, 'remoteSettings');
    await put(program, 'a.crt', certificate('server-two'));
    await put(program, 'a.key', privateKey('server-two'));
    expect(await program.line(saying(/^TLS for clients: new files in force: /))).toMatchObject({
      level: 30,
      msg: 'TLS for clients: new files in force: CN=server two, valid until 2120-01-01T00:00:00.000Z',
      certificate: { subject: 'CN=server two', fingerprint: expect.stringMatching(/^[0-9a-f]{64}$/) },
    });
    expect(await shown(program)).toBe('server two');
    // The connection from before has felt nothing.
    const ping = new Promise((resolve) => session.ping((error) => resolve(error)));
    expect(await ping).toBeNull();
    expect(program.lines.filter(({ level, event }) => Number(level) > 30 && event === undefined)).toEqual([]);
  });

  it('TLS-16: to a pair that does not fit: told once, those before stay in force until it is mended', async () => {
    const program = await serve([...secured, ...down], { files });
    await program.line('ready');
    await put(program, 'a.key', privateKey('server-two'));
    const line = await program.line(
      saying(/^TLS for clients: the files are of no use, those read before stay in force: /),
    );
    expect(line).toMatchObject({
      level: 40,
      msg: expect.stringMatching(/--tls-key a\.key: is not the key of the certificate in a\.crt$/),
    });
    expect(await shown(program)).toBe('server one');
    await put(program, 'a.crt', certificate('server-two'));
    await program.line(saying(/new files in force/));
    expect(await shown(program)).toBe('server two');
    expect(program.out).not.toContain('PRIVATE KEY');
  });

  it('TLS-16: one that stays half-written is told, and taken when it is whole; a call that is open feels neither', async () => {
    const backend = await startRawBackend({ onStream: behave.silent });
    ends.push(() => backend.close());
    const program = await serve([...secured, '--backend', `b=${backend.address}`], { files });
    await program.line(({ event }) => event === 'connected');
    const session = http2.connect(`https://127.0.0.1:${await program.port()}`, {
      ca: certificate('ca'),
      cert: certificate('client'),
      key: privateKey('client'),
    });
    ends.push(() => session.destroy());
    const request = { ':method': 'POST', ':path': '/a.B/C', 'content-type': 'application/grpc', te: 'trailers' };
    const call = session.request(request);
    call.end();
    const attempt = await backend.waitForStream(1);

    const next = certificate('server-two');
    await put(program, 'a.key', privateKey('server-two'));
    await put(program, 'a.crt', next.slice(0, next.length / 2));
    await program.line(saying(/^TLS for clients: the files are of no use, .*--tls-cert a\.crt: /));
    expect(await shown(program)).toBe('server one');
    await put(program, 'a.crt', next);
    await program.line(saying(/^TLS for clients: new files in force: CN=server two/));
    expect(await shown(program)).toBe('server two');

    const answered = once(call, 'response');
    attempt.trailersOnly(0);
    expect((await answered)[0]).toMatchObject({ 'grpc-status': '0', 'hedgerow-backend': 'b' });
  });

  it('TLS-18: SIGHUP reads them at once and tells what it found; another CA for clients counts from then on', async () => {
    const program = await serve([...secured, ...down], { files });
    await program.line('ready');
    program.signal('SIGHUP');
    await program.line(saying(/^TLS for clients: unchanged: CN=server one/));
    await put(program, 'ca.crt', certificate('other-ca'));
    program.signal('SIGHUP');
    await program.line(saying(/^TLS for clients: new files in force/));
    const refused = handshake(await program.port());
    refused.resume();
    await once(refused, 'close');
    await program.line(saying(/^client refused: showed a certificate that is not from a CA in --tls-client-ca$/));
    const welcome = handshake(await program.port(), 'stranger');
    // SETTINGS come once it is let in.
    await once(welcome, 'data');
  });

  it('TLS-22: an expired one is taken, and warned of', async () => {
    const old = { 'a.crt': certificate('expired'), 'a.key': privateKey('expired') };
    const program = await serve([...secured, ...down], { files: { ...files, ...old } });
    await program.line(saying(/^--tls-cert a\.crt: the certificate has expired, on Jan {2}1 .* 2021/));
    await program.line('ready');
  });

  it('TLS-15: of ours for backends are shown by the next connection', async () => {
    const subjects: (string | undefined)[] = [];
    const sessions: http2.ServerHttp2Session[] = [];
    const identity = { cert: certificate('server'), key: privateKey('server') };
    const server = http2.createSecureServer({ ...identity, ca: certificate('ca'), requestCert: true });
    server.on('session', (session) => {
      sessions.push(session);
      subjects.push((session.socket as tls.TLSSocket).getPeerX509Certificate()?.subject);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    ends.push(() => void server.close());
    const program = await serve(
      [
        ...[
          '--backend',
          `b=127.0.0.1:${(server.address() as AddressInfo).port}`,
          '--backend-tls',
          '--backend-ca',
          'ca.crt',
        ],
        ...['--backend-cert', 'b.crt', '--backend-key', 'b.key'],
      ],
      { files: { ...files, 'b.crt': certificate('client-two'), 'b.key': privateKey('client-two') } },
    );
    await program.line(({ event }) => event === 'connected');
    await put(program, 'b.crt', certificate('client'));
    await put(program, 'b.key', privateKey('client'));
    await program.line(saying(/^TLS to backends: new files in force: C=NL, .*CN=orders, valid until/));
    sessions[0]?.destroy();
    await program.line(({ event, generation }) => event === 'connected' && generation === 2);
    expect(subjects).toEqual(['CN=client two', expect.stringMatching(/CN=orders$/)]);
  });
});
