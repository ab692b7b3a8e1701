import type { EndedBy, Pushback, Reach } from '../../src/grpc/attempt-facts.js';
import type { StopReason } from '../../src/grpc/stop-reason.js';
import type { BufferLimit, Placement, Plan } from '../../src/policy/types.js';

/** What becomes of one attempt; times in whole milliseconds. */
export interface AttemptScript {
  /** Null: none is found. */
  readonly backend: string | null;
  /** After its start; null: no response headers. */
  readonly headersAfter: number | null;
  readonly lasts: number;
  readonly code: number;
  readonly reach: Reach;
  readonly pushback: Pushback;
  readonly by: EndedBy;
}

/** What ends a call from outside. */
export type Interruption =
  | { readonly kind: 'aborted'; readonly by: 'client' | 'shutdown'; readonly at: number }
  | { readonly kind: 'rejected'; readonly at: number };

/** All that will happen to one call; times count from its start. Overflow and interruption fall on odd fractions, so that only the deadline meets others. */
export interface CallScript {
  readonly plan: Plan;
  readonly placement: Placement;
  readonly policy: 'on' | 'off';
  readonly deadline: number | null;
  readonly maxTransparent: number;
  /** The attempts in turn; one past the end is like the last. */
  readonly attempts: readonly [AttemptScript, ...AttemptScript[]];
  readonly overflow: { readonly at: number; readonly limit: BufferLimit } | null;
  /** Request bytes that attempts have sent when it comes, in turn, from the start again past the end. */
  readonly sent: readonly [number, ...number[]];
  readonly interruption: Interruption | null;
  /** One for the wait after each attempt, in turn. */
  readonly randoms: readonly [number, ...number[]];
}

/** A token bucket in thousandths. */
export interface Bucket {
  readonly max: number;
  readonly ratio: number;
  tokens: number;
}

export function attemptScript({ attempts }: CallScript, n: number): AttemptScript {
  return attempts[n - 1] ?? (attempts.at(-1) as AttemptScript);
}

export function randomAfter({ randoms }: CallScript, n: number): number {
  return randoms[(n - 1) % randoms.length] as number;
}

export function sentBy({ sent }: CallScript, n: number): number {
  return sent[(n - 1) % sent.length] as number;
}

/**
 * One call reckoned: it yields the time at which it looks at the bucket next, or changes it, and is asked on when all calls
 * have come to that time.
 */
export type Reckoning = Generator<number, string[]>;

export function isShut(bucket: Bucket): boolean {
  return bucket.tokens * 2 <= bucket.max;
}

export function debit(bucket: Bucket): void {
  bucket.tokens = Math.max(0, bucket.tokens - 1000);
}

export function credit(bucket: Bucket): void {
  bucket.tokens = Math.min(bucket.max, bucket.tokens + bucket.ratio);
}

/** Where attempt n of a call that is a policy attempt has to go, as it is written in a line. */
export function whereTo({ placement }: CallScript, isFirst: boolean): string {
  if (placement.kind === 'only') return ` to ${placement.target}`;
  return placement.kind === 'firstOnly' && isFirst ? ` to ${placement.target}, if it can be had` : '';
}

/** Why a call ends from outside, as it is written in a line. */
export function outsideEnd({ interruption }: CallScript, byDeadline: boolean): readonly [why: string, told: string] {
  if (byDeadline || interruption === null) return ['deadline', 'DEADLINE_EXCEEDED deadline_exceeded'];
  if (interruption.kind === 'rejected') return ['rejected', 'RESOURCE_EXHAUSTED message_too_large'];
  return interruption.by === 'client'
    ? ['client', 'CANCELLED client_cancelled']
    : ['shutdown', 'UNAVAILABLE drain_timeout'];
}

/** The reason of a call that fails after commit (D12). */
export function reasonAfterCommit(
  script: CallScript,
  { by, code, pushback }: AttemptScript,
  commit: string,
): StopReason {
  if (by === 'loss') return 'backend_lost';
  if (script.plan.kind === 'none' || script.policy === 'off') return 'no_policy';
  if (!listsCode(script.plan, code)) return 'fatal_status';
  if (pushback.kind === 'never') return 'pushback';
  return commit === 'headers' ? 'committed' : 'buffer_exceeded';
}

export function listsCode(plan: Plan, code: number): boolean {
  return (plan.kind === 'retry' && plan.retryable.has(code)) || (plan.kind === 'hedge' && plan.nonFatal.has(code));
}
