import type { ParkReason, ReleaseRoute } from '../../balance/health-types.js';
import type { SessionOutcome } from '../../balance/sessions.js';
import { Status } from '../../grpc/status.js';
import { stopReasons } from '../../grpc/stop-reason.js';
import type { BackendChange } from '../../upstream/types.js';

/*
 * The closed sets of values that labels have (D23).
 */

/** By code; one outside the set counts as UNKNOWN, as every gRPC library has it. */
export const codeNames: readonly string[] = Object.keys(Status);
export const lastCode = codeNames.length - 1;

export const attemptCauses = ['first', 'retry', 'hedge', 'transparent'] as const;
export const attemptCauseIndex = indexOf(attemptCauses);
/** `ok`, `lost`, `cancelled`, then the codes from CANCELLED on. */
export const attemptResults: readonly string[] = ['ok', 'lost', 'cancelled', ...codeNames.slice(1)];
export const retryReasons = ['status', 'pushback', 'backend_lost', 'pick_failure'] as const;
export type RetryReason = (typeof retryReasons)[number];
export const callOutcomes = ['success', 'failed'] as const;
export const commitCauses = ['headers', 'ok', 'buffer_call', 'buffer_client', 'buffer_total'] as const;
export type CommitCause = (typeof commitCauses)[number];
export const commitCauseIndex = indexOf(commitCauses);
export const stopReasonIndex = indexOf(stopReasons);
export const pushbackKinds = ['after', 'never'] as const;
export const pinKinds = ['named', 'session'] as const;
export const pinModes = ['strict', 'first_attempt'] as const;
export const pinOutcomes = ['served', 'failed', 'refused', 'moved'] as const;
export type PinOutcome = (typeof pinOutcomes)[number];
export const sides = ['client', 'backend'] as const;
export const directions = ['received', 'sent'] as const;

/** Places by value, for the hot path: a property is found faster than an element. */
function indexOf<T extends string>(values: readonly T[]): Readonly<Record<T, number>> {
  return Object.fromEntries(values.map((value, at) => [value, at])) as Record<T, number>;
}

/** Checked against their types: none may be missing. */
function all<T extends string>(set: Readonly<Record<T, true>>): readonly T[] {
  return Object.keys(set) as T[];
}

export const parkReasons = all<ParkReason>({
  consecutive_failures: true,
  rate_limited: true,
  operator: true,
  not_serving: true,
});
export const releaseRoutes = all<ReleaseRoute>({
  success: true,
  lapsed_probe: true,
  connected: true,
  serving: true,
  operator: true,
  removed: true,
});
export const connectionEvents = all<BackendChange['event']>({
  connected: true,
  connect_failed: true,
  draining: true,
  lost: true,
  closed: true,
});
export const sessionOutcomes = all<SessionOutcome>({
  created: true,
  used: true,
  expired: true,
  lost: true,
  evicted: true,
  refused: true,
  released: true,
  cleared: true,
});

/** A method's, when it is not counted by name (A66). */
export const otherMethod = 'other';
/** Of backends past the most that are counted by name. No backend can be called that. */
export const otherBackend = '_other';
/** A66's grpc.target: hedgerow is one channel for its clients, its backends are what it leads to. */
export const grpcTarget = 'hedgerow:///';
