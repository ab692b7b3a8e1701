import type { Duplex } from 'node:stream';
import type { Alarms, Clock } from '../runtime/ports.js';
import { http1Answer, sniff } from './sniff.js';

export interface GreetingOptions {
  readonly clock: Clock;
  readonly alarms: Alarms;
  /** The time to say what it speaks (ms). */
  readonly timeout: number;
  /** It speaks HTTP/2 and is the caller's from now on; paused, with its first bytes still to read. */
  readonly onHttp2: () => void;
  /** It is turned away: why, in words. The socket ends by itself. */
  readonly onRefused: (detail: string) => void;
}

/** How long an HTTP/1.x client may take to read its answer (ms). */
const lingerTime = 1000;

/** Reads a cleartext connection's first bytes: they tell HTTP/2 from what must be turned away with a sentence. */
export function greet(socket: Duplex, options: GreetingOptions): void {
  const { clock, alarms, timeout } = options;
  let seen: Buffer = Buffer.alloc(0);
  const tooLate = alarms.set(clock.now() + timeout, () => {
    options.onRefused(`said nothing that tells its protocol within ${timeout} ms`);
    socket.destroy();
  });
  const settle = (): void => {
    alarms.cancel(tooLate);
    socket.off('data', onData);
    socket.off('close', settle);
  };
  const onData = (chunk: Buffer): void => {
    seen = seen.length === 0 ? chunk : Buffer.concat([seen, chunk]);
    const kind = sniff(seen);
    switch (kind) {
      case 'more':
        return;
      case 'http2':
        settle();
        socket.pause();
        socket.unshift(seen);
        options.onHttp2();
        return;
      case 'http1':
        settle();
        options.onRefused('spoke HTTP/1.x; only HTTP/2 is served here');
        answerHttp1(socket, options);
        return;
      case 'other': {
        settle();
        const isTls = seen[0] === 0x16;
        options.onRefused(
          isTls ? 'began a TLS handshake on a cleartext port; see --tls-cert' : 'spoke neither HTTP/2 nor HTTP/1.x',
        );
        socket.destroy();
        return;
      }
      default:
        kind satisfies never;
    }
  };
  socket.on('data', onData);
  socket.on('close', settle);
}

/** What is still unread when a socket closes resets it, and the peer may lose its answer: so the rest is read away. */
function answerHttp1(socket: Duplex, { clock, alarms }: GreetingOptions): void {
  const late = alarms.set(clock.now() + lingerTime, () => socket.destroy());
  socket.once('close', () => alarms.cancel(late));
  socket.resume();
  socket.end(http1Answer);
}
