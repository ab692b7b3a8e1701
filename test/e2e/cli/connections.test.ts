import { once } from 'node:events';
import net from 'node:net';
import { describe, expect, it } from 'vitest';
import { preface, settings } from '../../support/frames.js';
import { serve } from '../../support/program.js';
import { connectRawClient } from '../../support/raw-peer.js';

const down = ['--backend', 'b1=127.0.0.1:9'];

interface Peer {
  readonly socket: net.Socket;
  /** All that came until the proxy closed. */
  readonly answer: Promise<string>;
}

/** Connects and sends; keeps its own end open. */
async function speak(port: number, ...chunks: readonly (string | Uint8Array)[]): Promise<Peer> {
  const socket = net.connect({ port, host: '127.0.0.1' });
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
  });
  socket.on('error', () => {});
  const answer = once(socket, 'close').then(() => text);
  await once(socket, 'connect');
  for (const chunk of chunks) socket.write(chunk);
  return { socket, answer };
}

describe('a peer that does not speak HTTP/2', () => {
  it('in HTTP/1.x gets one 505 with a sentence, the connection is closed, the log says so', async () => {
    const program = await serve(down);
    const port = await program.port();
    const { answer } = await speak(port, 'GET / HTTP/1.1\r\nhost: x\r\n\r\n', 'GET /again HTTP/1.1\r\nhost: x\r\n\r\n');
    const text = await answer;
    expect(text).toMatch(/^HTTP\/1\.1 505 [^\r\n]+\r\n/);
    expect(text).toMatch(/connection: close\r\n/i);
    expect(text.split('HTTP/1.1 505')).toHaveLength(2);
    const body = text.slice(text.indexOf('\r\n\r\n') + 4);
    expect(body).toMatch(/^[A-Z].+\n$/);
    expect(text).toContain(`content-length: ${body.length}\r\n`);
    const line = await program.line(({ msg }) => /HTTP\/1\.x/.test(String(msg)));
    expect(line).toMatchObject({ level: 40, peer: expect.stringMatching(/^127\.0\.0\.1:\d+$/) });
    // fetch is a real HTTP/1.1 client.
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(505);
  });

  it('in HTTP/1.x with a large body gets its answer too', async () => {
    const program = await serve(down);
    const body = Buffer.alloc(1_000_000, 'x');
    const { answer } = await speak(
      await program.port(),
      `POST / HTTP/1.1\r\ncontent-length: ${body.length}\r\n\r\n`,
      body,
    );
    expect(await answer).toMatch(/^HTTP\/1\.1 505 /);
  });

  it.each([
    [
      'TLS-04: with TLS',
      Buffer.from([0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]),
      /^client refused: began a TLS handshake on a cleartext port; see --tls-cert$/,
    ],
    ['with noise', Buffer.from([0, 1, 2, 3, 0xff]), /neither HTTP\/2 nor HTTP\/1\.x/],
    ['with frames without a preface', Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]), /neither HTTP\/2 nor HTTP\/1\.x/],
  ])('%s is closed and logged; others feel nothing', async (_what, bytes, words) => {
    const program = await serve(down);
    const port = await program.port();
    const other = await connectRawClient(port);
    const { answer } = await speak(port, bytes);
    expect(await answer).toBe('');
    expect(await program.line(({ msg }) => words.test(String(msg)))).toMatchObject({ level: 40 });
    await other.ping();
    await other.close();
  });

  it('with a good preface and a broken frame gets GOAWAY, is closed and logged', async () => {
    const program = await serve(down);
    const client = await connectRawClient(await program.port());
    // DATA on stream 0 (RFC 9113 6.1).
    client.connection.send(Buffer.from([0, 0, 1, 0, 0, 0, 0, 0, 0, 0x61]));
    expect(await client.whenGoaway()).toMatchObject({ code: 1 });
    await client.whenClosed();
    expect(await program.line(({ msg }) => /client refused/.test(String(msg)))).toMatchObject({ level: 40 });
  });

  it.each([
    ['connects', ''],
    ['begins its preface', preface.subarray(0, 20)],
    ['sends its preface', preface],
    ['begins its SETTINGS', Buffer.concat([preface, settings()]).subarray(0, 30)],
  ])('that %s and goes away is no news, by FIN and by RST', async (_what, bytes) => {
    const program = await serve(down);
    const port = await program.port();
    const { socket, answer } = await speak(port, bytes);
    socket.end();
    await answer;
    const reset = await speak(port, bytes);
    // Its SETTINGS show that the proxy has taken it for HTTP/2.
    if (bytes.length >= preface.length) await once(reset.socket, 'data');
    reset.socket.resetAndDestroy();
    await reset.answer;
    const client = await connectRawClient(port);
    await client.close();
    program.signal('SIGTERM');
    await program.exited();
    expect(program.out).not.toContain('client refused');
  });
});

describe('--max-connections', () => {
  it('closes further connections as they come, says so, and takes new ones when there is room', async () => {
    const program = await serve(['--max-connections', '2', ...down]);
    const port = await program.port();
    const first = await connectRawClient(port);
    // One that has not spoken yet counts as well.
    const second = await speak(port);
    await first.ping();
    const third = await speak(port);
    expect(await third.answer).toBe('');
    expect(await program.line(({ msg }) => /--max-connections/.test(String(msg)))).toMatchObject({ level: 40 });
    await first.ping();
    await first.close();
    second.socket.end();
    await second.answer;
    const after = await connectRawClient(port);
    await after.ping();
    await after.close();
  });
});
