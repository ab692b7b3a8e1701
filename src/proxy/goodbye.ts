import { ErrorCode, type Http2Connection } from '../http2/types.js';
import type { Alarms, Clock, Turn } from '../runtime/ports.js';

/** The most that a drain waits for a client's answer between its two GOAWAYs (ms; contract, SIGTERM). */
const answerTime = 1000;

/**
 * Tells a client in two steps that its connection ends (RFC 9113 6.8; A9): "soon", and after a round trip, in which what it
 * had sent by then has come, the last stream that is served.
 *
 * @param saidLast the second step is done: no new call can come; `heard`: the client has read all that came before the first
 * @returns for a connection that ends before: `saidLast` is not called any more
 */
export function sayGoodbye(
  connection: Http2Connection,
  { alarms, clock, turn }: { readonly alarms: Alarms; readonly clock: Clock; readonly turn: Turn },
  saidLast: (heard: boolean) => void,
): () => void {
  let over = false;
  const stop = (): void => {
    over = true;
    alarms.cancel(late);
  };
  const sayLast = (heard: boolean): void => {
    if (over) return;
    stop();
    connection.goaway(connection.lastPeerStreamId, ErrorCode.NO_ERROR, 'draining');
    saidLast(heard);
  };
  connection.goaway(2 ** 31 - 1, ErrorCode.NO_ERROR, 'draining');
  const late = alarms.set(clock.now() + answerTime, () => sayLast(false));
  // At the end of the turn: a client may write its answer before the requests that leave with it, as C-core does.
  connection.ping(() => turn.atEnd(() => sayLast(true)));
  return stop;
}
