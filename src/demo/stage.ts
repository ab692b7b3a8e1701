import type { StatusCode } from '../grpc/status.js';

/** A failure that a backend tells, as Trailers-Only. */
export interface Failure {
  readonly code: StatusCode;
  readonly message: string;
  /** For google.rpc.ErrorInfo. */
  readonly reason: string;
  /** `grpc-retry-pushback-ms`; null: not sent. */
  readonly pushback: number | null;
}

/** What one attempt meets, whichever backend it reaches. */
export interface Part {
  /** Before the answer, or before each message of a stream (ms). */
  readonly pace: number;
  /** Null: an answer. */
  readonly failure: Failure | null;
}

/** One attempt, as its backend saw it. */
export interface Arrival {
  readonly backend: string;
  /** What `grpc-previous-rpc-attempts` said; null: it was absent. */
  readonly previous: string | null;
}

/**
 * What goes wrong, arranged call by call: the first attempt of a call to reach any backend plays the first part, the next
 * one the second. So each call shows what it is to show, whichever backends the proxy picks.
 */
export interface Stage {
  /** A new call: attempts play these parts in order, further ones the last. */
  set(parts: readonly [Part, ...Part[]]): void;
  /** An attempt has come. */
  enter(arrival: Arrival): Part;
  /** Of the current call, in order. */
  readonly arrivals: readonly Arrival[];
}

const quiet: Part = { pace: 2, failure: null };

export function createStage(): Stage {
  let parts: readonly Part[] = [quiet];
  let arrivals: Arrival[] = [];
  return {
    set(next) {
      parts = next;
      arrivals = [];
    },
    enter(arrival) {
      arrivals.push(arrival);
      return parts[Math.min(arrivals.length, parts.length) - 1] ?? quiet;
    },
    get arrivals() {
      return arrivals;
    },
  };
}
