import { once } from 'node:events';
import { Duplex } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { greet } from '../../../src/proxy/greeting.js';
import { http1Answer } from '../../../src/proxy/sniff.js';
import { createVirtualTime } from '../../support/virtual-time.js';

const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

/** A connection without a network: `say` is what the peer sends. */
function meet() {
  const time = createVirtualTime();
  const happened: string[] = [];
  let written = '';
  const socket = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      written += chunk.toString('latin1');
      done();
    },
    emitClose: true,
    autoDestroy: true,
  });
  greet(socket, {
    clock: time.clock,
    alarms: time.alarms,
    timeout: 5000,
    onHttp2: () => happened.push('http2'),
    onRefused: (detail) => happened.push(detail),
  });
  const say = async (...texts: string[]): Promise<void> => {
    for (const text of texts) {
      socket.push(Buffer.from(text, 'latin1'));
      await new Promise(setImmediate);
    }
  };
  return { time, happened, socket, say, written: () => written };
}

describe('a cleartext connection', () => {
  it('that speaks HTTP/2 is handed over paused, with all its bytes still to read', async () => {
    const { time, happened, socket, say, written } = meet();
    await say('PRI * HTTP/2', '.0\r\n\r\nSM\r\n\r\n\0\0\0');
    expect(happened).toEqual(['http2']);
    expect(socket.isPaused()).toBe(true);
    expect(String(socket.read())).toBe(`${preface}\0\0\0`);
    expect([written(), time.alarms.pending]).toEqual(['', 0]);
    expect(socket.listenerCount('data')).toBe(0);
  });

  it('that speaks HTTP/1.x gets one answer, whatever more it sends, and ends with its peer', async () => {
    const { time, happened, socket, say, written } = meet();
    await say('POST /a.B/C HTTP/1.1\r\n', 'host: x\r\n\r\n', 'body');
    expect(happened).toEqual([expect.stringMatching(/HTTP\/1\.x/)]);
    expect(written()).toBe(http1Answer);
    expect(socket.destroyed).toBe(false);
    const closed = once(socket, 'close');
    socket.push(null);
    await closed;
    expect(time.alarms.pending).toBe(0);
  });

  it('that speaks HTTP/1.x and stays is closed a second later', async () => {
    const { time, socket, say } = meet();
    await say('GET / HTTP/1.1\r\n\r\n');
    time.advance(999);
    expect(socket.destroyed).toBe(false);
    time.advance(1);
    expect(socket.destroyed).toBe(true);
  });

  it.each([
    ['TLS', '\x16\x03\x01\x02\0', /TLS handshake on a cleartext port/],
    ['noise', '\0\x01\x02', /neither HTTP\/2 nor HTTP\/1\.x/],
    ['a broken preface', 'PRI * HTTP/2.0\r\n\r\nSX', /neither|HTTP\/1\.x/],
  ])('that begins with %s is refused', async (_what, text, words) => {
    const { time, happened, socket, say } = meet();
    await say(text);
    expect(happened).toEqual([expect.stringMatching(words)]);
    expect(socket.destroyed || socket.writableEnded).toBe(true);
    time.runOut();
    expect(socket.destroyed).toBe(true);
  });

  it.each([['nothing'], ['half a preface', 'PRI * HTTP']])(
    'that says %s is refused when its time is over, not before',
    async (_what, ...texts) => {
      const { time, happened, socket, say } = meet();
      await say(...texts);
      time.advance(4999);
      expect([happened, socket.destroyed]).toEqual([[], false]);
      time.advance(1);
      expect(happened).toEqual([expect.stringMatching(/within 5000 ms/)]);
      expect(socket.destroyed).toBe(true);
      await once(socket, 'close');
      expect(time.alarms.pending).toBe(0);
    },
  );

  it('that goes away without a word is no news, and leaves no alarm', async () => {
    const { time, happened, socket } = meet();
    const closed = once(socket, 'close');
    socket.destroy();
    await closed;
    expect([happened, time.alarms.pending]).toEqual([[], 0]);
  });
});
