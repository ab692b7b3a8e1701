import net from 'node:net';
import { Duplex } from 'node:stream';
import tls from 'node:tls';
import type { Assault } from './assault.js';
import { type ClientAttack, dawdle } from './client-attacks.js';
import { pause } from './rig.js';

/** A ClientHello as node:tls sends it. */
function clientHello(): Promise<Buffer> {
  return new Promise((resolve) => {
    const wire = new Duplex({
      read() {},
      write(chunk: Buffer, _encoding, done) {
        resolve(chunk);
        done();
      },
    });
    tls.connect({ socket: wire, ALPNProtocols: ['h2'], rejectUnauthorized: false }).on('error', () => {});
  });
}

/** Has the server sign for each of `perSecond` connections, and then says nothing more. */
async function halfHandshakes(assault: Assault, perSecond: number): Promise<void> {
  const hello = await clientHello();
  const all: net.Socket[] = [];
  await assault.pace(perSecond, (count) => {
    for (let i = 0; i < count; i += 1) {
      const socket = net.connect({ port: assault.port, host: '127.0.0.1' });
      socket.on('error', () => {});
      socket.resume();
      assault.watch({ socket });
      socket.write(hello);
      all.push(socket);
    }
    return true;
  });
  for (const socket of all) socket.destroy();
}

export const tlsAttacks: readonly ClientAttack[] = [
  {
    name: 'TLS handshakes that stall',
    end: 'closed',
    says: /client refused: did not finish its TLS handshake within 700 ms/,
    secure: true,
    flags: ['--preface-timeout', '700ms'],
    async mount(assault) {
      const hello = await clientHello();
      await dawdle(assault, 300, hello.subarray(0, 100), hello.subarray(100));
    },
  },
  {
    name: 'half handshakes',
    end: 'closed',
    says: /client refused: did not finish its TLS handshake within 700 ms/,
    secure: true,
    flags: ['--preface-timeout', '700ms'],
    mount: (assault) => halfHandshakes(assault, 200),
  },
  {
    name: 'whole handshakes, over and over',
    end: 'held',
    says: null,
    secure: true,
    async mount(assault) {
      const host = '127.0.0.1';
      await assault.pace(50, (count) => {
        for (let i = 0; i < count; i += 1) {
          const options = { port: assault.port, host, ALPNProtocols: ['h2'], rejectUnauthorized: false };
          const socket = tls.connect(options, () => socket.destroy()).on('error', () => {});
        }
        return true;
      });
      await pause(50);
    },
  },
];
