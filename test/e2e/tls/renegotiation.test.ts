import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import tls from 'node:tls';
import { expect, it } from 'vitest';
import { serve } from '../../support/program.js';
import { certificate, identityFiles, privateKey } from '../../support/tls.js';

/** RFC 9113 9.2.1. Who renegotiates has the other side sign as often as it likes. */
async function refusal(socket: tls.TLSSocket): Promise<unknown> {
  expect(socket.getProtocol()).toBe('TLSv1.2');
  return await new Promise((resolve) => {
    socket.on('error', resolve);
    socket.renegotiate({}, resolve);
  });
}

it('a TLS 1.2 client cannot renegotiate', async () => {
  const { cert, key } = identityFiles('server');
  const program = await serve(['--tls-cert', cert, '--tls-key', key, '--backend', 'b1=127.0.0.1:9']);
  const socket = tls.connect({
    port: await program.port(),
    host: '127.0.0.1',
    ca: certificate('ca'),
    ALPNProtocols: ['h2'],
    maxVersion: 'TLSv1.2',
  });
  await once(socket, 'secureConnect');
  expect(await refusal(socket)).toMatchObject({ code: 'ERR_SSL_NO_RENEGOTIATION' });
  socket.destroy();
});

it('a TLS 1.2 backend cannot renegotiate', async () => {
  const backend = tls.createServer({
    cert: certificate('server'),
    key: privateKey('server'),
    ALPNProtocols: ['h2'],
    maxVersion: 'TLSv1.2',
  });
  await new Promise<void>((resolve) => backend.listen(0, '127.0.0.1', resolve));
  const connected = once(backend, 'secureConnection');
  const { port } = backend.address() as AddressInfo;
  await serve(['--backend', `b1=127.0.0.1:${port}`, '--backend-tls', '--backend-ca', identityFiles('ca').cert]);
  const [socket] = (await connected) as [tls.TLSSocket];
  socket.resume();
  expect(await refusal(socket)).toMatchObject({ code: 'ERR_SSL_NO_RENEGOTIATION' });
  socket.destroy();
  backend.close();
});
