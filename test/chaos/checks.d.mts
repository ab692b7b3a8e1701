/** What the clients, the backends and /backends saw of a run of the chaos. Times in ms since the epoch. */

export type CallKind = 'unary' | 'hedged' | 'pinned' | 'session' | 'download' | 'chat';

/** One call as its client saw it. */
export interface CallRecord {
  id: string;
  kind: CallKind;
  begun: number;
  ended: number | null;
  /** Of response headers; null for Trailers-Only. */
  headersAt: number | null;
  /** How many statuses came. */
  ends: number;
  code: number | null;
  words: string;
  pin: string | null;
  session: string | null;
  /** As the proxy tells it, in initial metadata or trailers. */
  backend: string | null;
  /** As the backend tells it. */
  answeredBy: string | null;
  backends: string | null;
  retries: number | null;
  reason: string | null;
  processed: string | null;
  /** What is wrong with an answer that ended OK. */
  wrong: string | null;
}

export interface FaultRecord {
  backend: string;
  kind: 'kill' | 'pause' | 'cut' | 'slow' | 'drain' | 'lost' | 'leave' | 'break' | 'return' | 'move' | 'unlist';
  began: number;
  /** Null: not over yet. */
  ended: number | null;
}

/** An execution that a backend wrote down. */
export interface Execution {
  backend: string;
  id: string;
  at: number;
}

/** One look at /backends. */
export interface Look {
  at: number;
  states: { name: string; state: string; parkedForMs: number | null }[];
}

/** A time in which the machine did not let this process run. */
export interface Stall {
  from: number;
  to: number;
}

export interface Evidence {
  calls: CallRecord[];
  faults: FaultRecord[];
  executions: Execution[];
  looks: Look[];
  stalls: Stall[];
  /** When the run's calls were all to be over. */
  end: number;
}

export interface Limits {
  /** ms */
  keepaliveTime: number;
  keepaliveTimeout: number;
  deadline: number;
  maxAttempts: number;
}

export interface CheckResult {
  name: string;
  /** How many things it was held against. */
  checked: number;
  failures: string[];
}

export function runChecks(evidence: Evidence, limits: Limits): CheckResult[];
