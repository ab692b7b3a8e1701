/** When connections are asked by PING whether they live (contract, --keepalive-…). Times in milliseconds, above 0. */
export interface KeepaliveLimits {
  /** Silence after which a PING asks, while calls are open. */
  readonly time: number;
  /** What may pass after a PING without a byte from the peer. */
  readonly timeout: number;
  /** PINGs in one silence before the next ones wait longer; 0: no limit. */
  readonly maxPings: number;
}

/**
 * Stock gRPC servers count a PING against its sender that comes within so long of the one before (ms), and end the connection
 * at the third such since their last HEADERS or DATA frame; the first after such a frame is free.
 */
export const strikeTime = 300_000;

/** What one connection's keepalive remembers. Opaque: made by `quiet`, changed by `judge` and `answered`. */
export interface KeepaliveState {
  /** Since the peer's last HEADERS or DATA, as the peer may count them. */
  readonly pings: number;
  /** PINGs whose answers have not come. */
  readonly unanswered: number;
  /** KeepaliveFacts.callFrames, up to which `pings` has been reckoned. */
  readonly callFrames: number;
  /** When the PING was sent that nothing has come after; null: none is waited for. */
  readonly askedAt: number | null;
  /** By when the peer has had the last PING: when it was answered, until then when it was sent. */
  readonly lastPingAt: number;
}

/** What the connection is like. */
export interface KeepaliveFacts {
  readonly openStreams: number;
  /** Since when a call has been open, or one after another, with nothing read meanwhile (clock ms). */
  readonly busySince: number;
  /** When bytes last came (clock ms). */
  readonly lastReadAt: number;
  /** HEADERS and DATA frames that have come so far. */
  readonly callFrames: number;
}

/** What is to be done. `at`: when to judge again (clock ms). */
export type KeepaliveStep =
  /** Nothing, until a stream is opened. */
  | { readonly kind: 'rest' }
  | { readonly kind: 'wait'; readonly at: number }
  | { readonly kind: 'ping'; readonly at: number }
  | { readonly kind: 'lost' };

/** A connection that has not been asked yet. */
export const quiet: KeepaliveState = {
  pings: 0,
  unanswered: 0,
  callFrames: 0,
  askedAt: null,
  lastPingAt: Number.NEGATIVE_INFINITY,
};

/**
 * What a connection's silence comes to at this time. A PING is sent only while streams are open; once it is, the peer has to
 * answer even if they end meanwhile. Any byte is an answer: it proves the peer alive as well as a PING's own does.
 *
 * @param now clock ms
 */
export function judge(
  state: KeepaliveState,
  facts: KeepaliveFacts,
  now: number,
  { time, timeout, maxPings }: KeepaliveLimits,
): { readonly state: KeepaliveState; readonly step: KeepaliveStep } {
  const { openStreams, busySince, lastReadAt, callFrames } = facts;
  const { askedAt } = state;
  if (askedAt !== null && lastReadAt < askedAt) {
    const end = askedAt + timeout;
    return { state, step: now < end ? { kind: 'wait', at: end } : { kind: 'lost' } };
  }
  const heard: KeepaliveState = askedAt === null ? state : { ...state, askedAt: null };
  if (openStreams === 0) return { state: heard, step: { kind: 'rest' } };
  // A frame that may have left before a PING arrived does not free that one: see `answered`.
  const pings = heard.unanswered === 0 && callFrames !== heard.callFrames ? 0 : heard.pings;
  const silent = Math.max(lastReadAt, busySince) + time;
  const due = maxPings > 0 && pings >= maxPings ? Math.max(silent, heard.lastPingAt + strikeTime) : silent;
  if (now < due) return { state: heard, step: { kind: 'wait', at: due } };
  return {
    state: { pings: pings + 1, unanswered: heard.unanswered + 1, callFrames, askedAt: now, lastPingAt: now },
    // The next one may be due before the time for this one's answer is over.
    step: { kind: 'ping', at: now + Math.min(time, timeout) },
  };
}

/**
 * The answer to a PING came. HEADERS or DATA that came since it was sent may have left before the peer had the PING, which
 * then is the first that the peer counts after them.
 *
 * @param now clock ms
 */
export function answered(state: KeepaliveState, callFrames: number, now: number): KeepaliveState {
  const unanswered = state.unanswered - 1;
  const fresh = unanswered === 0 && callFrames !== state.callFrames;
  return {
    ...state,
    unanswered,
    lastPingAt: now,
    ...(fresh ? { pings: 1, callFrames } : {}),
  };
}

/**
 * The limits for a backend that finds our PINGs too many. The interval doubles (gRFC A8), once for connections that were asked
 * alike and say so one after another. Where PINGs have a ration it shrinks to what the backend had put up with: grpc-java's
 * server cuts a connection that is younger than five minutes at the third PING, one sooner than others do.
 *
 * @param after the silence after which the connection's last PING was sent (ms)
 * @param pings how many the connection had in one silence
 */
export function calmer(limits: KeepaliveLimits, after: number, pings: number): KeepaliveLimits {
  const { time, maxPings } = limits;
  return {
    ...limits,
    time: Math.max(time, 2 * after),
    maxPings: maxPings === 0 ? 0 : Math.max(1, Math.min(maxPings, pings - 1)),
  };
}
