import type { SocketBinding } from '../http2/socket.js';
import type { Alarms, Clock, Turn } from '../runtime/ports.js';
import { KeepaliveWatch } from '../upstream/keepalive-watch.js';

/** When clients are asked by PING whether they live (--client-keepalive-…). Milliseconds, above 0. */
export interface ClientKeepalive {
  /** Silence after which a PING asks, with calls or without. */
  readonly time: number;
  /** What may pass after it without a byte from the client. */
  readonly timeout: number;
}

/**
 * Watches a client's connection as backends' are watched, with two differences. It is asked without calls too, as gRPC's servers
 * ask (A9, KEEPALIVE_TIME): a client that is gone would be kept for good. And its PINGs have no ration: gRPC's clients complain
 * of none.
 *
 * @param onLost the client does not answer; the watch is over
 */
export function watchClient(
  binding: Pick<SocketBinding, 'connection' | 'lastReadAt' | 'readOn'>,
  ports: { readonly clock: Clock; readonly alarms: Alarms; readonly turn: Turn },
  { time, timeout }: ClientKeepalive,
  onLost: (detail: string) => void,
): KeepaliveWatch {
  const { clock, alarms, turn } = ports;
  const watch = new KeepaliveWatch(
    { clock, alarms, turn, keepalive: { time, timeout, maxPings: 0 } },
    binding,
    // As one that always has a call, and whose frames refill nothing.
    { openStreams: 1, callFrames: 0, ping: (onAck) => binding.connection.ping(onAck) },
    onLost,
  );
  watch.opened();
  return watch;
}
