import type { AttemptEnd } from '../grpc/attempt-facts.js';
import type { Millis } from '../grpc/millis.js';
import { Status } from '../grpc/status.js';
import { matcherOf, SilenceMemory } from './blame-methods.js';

/** What an attempt's end says of its backend (D21). Each but a rate limit is one value for good. */
export type Verdict =
  /** It answered. */
  | {
      readonly kind: 'success';
      /** Lowers the failure rate; not so where it was asked for more than it gives. */
      readonly counts: boolean;
    }
  | {
      readonly kind: 'neutral';
      /** Nobody waited for it any longer: how long it was silent is less than its latency. */
      readonly waited: boolean;
    }
  /** A hard failure. */
  | { readonly kind: 'failure'; readonly cause: 'transport' | 'status' | 'timeout' }
  /** `ms`: the delay that it asks for; null: it gives no number. */
  | { readonly kind: 'rateLimited'; readonly ms: Millis | null };

/** An attempt that did not end by itself. */
export type Unended =
  /** The call's deadline passed while it was under way. */
  | 'deadline'
  /** A hedge that lost, a client that cancelled, a commit to another attempt, a drain, a limit of ours. */
  | 'abandoned';

export interface BlameSettings {
  /** Milliseconds; our deadline blames nobody who had the whole request for less. */
  readonly minBlame: number;
  /** `/service/method`, or `/service/*`: methods that end by deadline by design. */
  readonly ignoreDeadline: readonly string[];
  /** INTERNAL and UNKNOWN are failures. */
  readonly countInternal: boolean;
  /** A quota is a rate limit of the backend, not of its caller alone. */
  readonly rateLimit: boolean;
}

export interface Blame {
  /**
   * What the end of one attempt, whose HEADERS were handed over, says of its backend; remembers how long its method may be
   * silent.
   *
   * @param path the call's `:path`
   * @param silentMs from HEADERS handed over to response headers, else to the end
   * @param owedMs from END_STREAM of the request handed over to the end; negative: the request has not ended
   * @param answered response headers have come
   */
  judge(end: AttemptEnd | Unended, path: string, silentMs: number, owedMs: number, answered: boolean): Verdict;
}

const success: Verdict = { kind: 'success', counts: true };
const answeredOnly: Verdict = { kind: 'success', counts: false };
/** Also of whatever ends at an address that its backend has left. */
export const neutral: Verdict = { kind: 'neutral', waited: false };
const abandoned: Verdict = { kind: 'neutral', waited: true };
const statusFailure: Verdict = { kind: 'failure', cause: 'status' };
const timeout: Verdict = { kind: 'failure', cause: 'timeout' };

/** Of a connect that failed, too, which is no attempt's end (D21, transport). */
export const transportFailure: Verdict = { kind: 'failure', cause: 'transport' };

export function createBlame(settings: BlameSettings): Blame {
  const ignored = matcherOf(settings.ignoreDeadline);
  const silences = new SilenceMemory();
  return {
    judge(end, path, silentMs, owedMs, answered) {
      if (end === 'abandoned') return abandoned;
      if (end === 'deadline') {
        // A backend that waits for the rest of the request is not silent: the client is.
        if (answered || owedMs < settings.minBlame) return neutral;
        return ignored(path) || silences.longest(path) >= silentMs ? neutral : timeout;
      }
      const verdict = judgeHealth(end, settings);
      if (silentMs >= settings.minBlame && endedByDesign(end, verdict)) silences.remember(path, silentMs);
      return verdict;
    },
  };
}

/**
 * D21's table for an attempt that ended by itself, before response headers or after them.
 *
 * | how it ended | verdict |
 * |---|---|
 * | OK, and any code but those below | success |
 * | UNAVAILABLE, stated or made of HTTP 502, 503, 504, or 429 without a `retry-after` | failure |
 * | INTERNAL, UNKNOWN, stated or made of an answer without a grpc-status | neutral; with countInternal failure |
 * | DEADLINE_EXCEEDED | neutral: the echo of our own deadline |
 * | RESOURCE_EXHAUSTED with a delay, HTTP 429 with a `retry-after` | success that leaves the rate; with rateLimit a rate limit |
 * | RESOURCE_EXHAUSTED bare | success: may be a message's size |
 * | a reset, HTTP/2 broken on the stream, a lost connection | failure of the transport |
 * | a reset with CANCEL or REFUSED_STREAM, GOAWAY | neutral: orderly |
 * | a lost connection that was out of service, as after GOAWAY, or not the newest | neutral: the backend has gone on |
 * | ended by us | neutral |
 */
export function judgeHealth(
  { code, sign }: Pick<AttemptEnd, 'code' | 'sign'>,
  settings: Pick<BlameSettings, 'countInternal' | 'rateLimit'>,
): Verdict {
  switch (sign.kind) {
    case 'stated':
    case 'unstated':
      return judgeCode(code, settings.countInternal);
    case 'limited':
      return settings.rateLimit ? { kind: 'rateLimited', ms: sign.ms } : answeredOnly;
    case 'reset':
    case 'broken':
    case 'lost':
      return transportFailure;
    case 'declined':
    case 'goaway':
    case 'outlived':
    case 'own':
      return neutral;
    default:
      return sign satisfies never;
  }
}

function judgeCode(code: number, countInternal: boolean): Verdict {
  switch (code) {
    case Status.UNAVAILABLE:
      return statusFailure;
    case Status.INTERNAL:
    case Status.UNKNOWN:
      return countInternal ? statusFailure : neutral;
    case Status.DEADLINE_EXCEEDED:
      return neutral;
    default:
      return success;
  }
}

/** An answer that a silence led to. UNIMPLEMENTED is none: names that clients make up are not worth a place. */
function endedByDesign({ code, sign }: AttemptEnd, verdict: Verdict): boolean {
  return (
    verdict.kind !== 'failure' &&
    code !== Status.UNIMPLEMENTED &&
    (sign.kind === 'stated' || sign.kind === 'unstated' || sign.kind === 'limited')
  );
}
