import type { Millis } from '../grpc/millis.js';
import { Status, type StatusCode } from '../grpc/status.js';
import { thousandths } from './decimal.js';
import { readFields, showNode } from './fields.js';
import type { JsonNode } from './json-tree.js';
import { memberPath, type Report } from './report.js';
import {
  asObject,
  optionalDuration,
  requiredInteger,
  requiredPositiveDuration,
  requiredPositiveNumber,
  requiredStatusCodes,
  type Scope,
  statusCodes,
} from './value-grammar.js';

/** What one entry asks for. `maxAttempts` is as written: the cap is applied when methods are compiled. */
export type Policy =
  | { readonly kind: 'none' }
  | {
      readonly kind: 'retry';
      /** At least 2, the first attempt included. */
      readonly maxAttempts: number;
      readonly initialBackoff: Millis;
      readonly maxBackoff: Millis;
      readonly multiplier: number;
      readonly retryable: ReadonlySet<StatusCode>;
    }
  | {
      readonly kind: 'hedge';
      readonly maxAttempts: number;
      /** 0: all at once. */
      readonly delay: Millis;
      readonly nonFatal: ReadonlySet<StatusCode>;
    };

/** The token bucket, in thousandths of a token: integers, so that sums are exact (A6, Throttling). */
export interface Throttling {
  /** 1000 to 1 000 000. */
  readonly maxMilliTokens: number;
  /** 1 to maxMilliTokens: more than a full bucket adds nothing. */
  readonly milliTokensPerSuccess: number;
}

/** The most that a token bucket may hold (A6, Configuration). */
const mostTokens = 1000;

function open(
  node: JsonNode,
  kind: 'retryPolicy' | 'hedgingPolicy' | 'retryThrottling',
  path: string,
  report: Report,
): Scope | null {
  const object = asObject(node, path, report);
  return object === null
    ? null
    : { fields: readFields(object, kind, path, report), path, offset: object.offset, report };
}

/** maxAttempts, with a warning where the cap takes some away (CFG-33). */
function readAttempts(scope: Scope, limit: number): number | null {
  const attempts = requiredInteger(scope, 'maxAttempts', 2);
  const member = scope.fields.get('maxAttempts');
  if (attempts !== null && member !== undefined && attempts > limit) {
    const effect = limit === 1 ? 'no policy is applied' : `at most ${limit} attempts are made`;
    const message = `${attempts} is over the cap: ${effect}; raise --max-attempts-limit (now ${limit}) to allow more`;
    scope.report.add('attempts-over-cap', member.value.offset, memberPath(scope.path, 'maxAttempts'), message);
  }
  return attempts;
}

/** Null where anything in it is wrong; all of that is reported. */
export function readRetryPolicy(node: JsonNode, path: string, limit: number, report: Report): Policy | null {
  const scope = open(node, 'retryPolicy', path, report);
  if (scope === null) return null;
  const maxAttempts = readAttempts(scope, limit);
  const initialBackoff = requiredPositiveDuration(scope, 'initialBackoff');
  const maxBackoff = requiredPositiveDuration(scope, 'maxBackoff');
  const multiplier = requiredPositiveNumber(scope, 'backoffMultiplier');
  const retryable = requiredStatusCodes(scope, 'retryableStatusCodes');
  const maxMember = scope.fields.get('maxBackoff');
  if (initialBackoff !== null && maxBackoff !== null && maxMember !== undefined && maxBackoff < initialBackoff) {
    const message = `is under initialBackoff: no wait, not even the first, is longer than about ${showNode(maxMember.value)}`;
    report.add('backoff-order', maxMember.value.offset, memberPath(path, 'maxBackoff'), message);
  }
  if (maxAttempts === null || initialBackoff === null || maxBackoff === null) return null;
  if (multiplier === null || retryable === null) return null;
  return { kind: 'retry', maxAttempts, initialBackoff, maxBackoff, multiplier: multiplier.value, retryable };
}

/** nonFatalStatusCodes, with a warning where the failure that hedging is there for ends the call (D19). */
function readNonFatal(scope: Scope): ReadonlySet<StatusCode> {
  const listed = scope.fields.get('nonFatalStatusCodes')?.value;
  const codes = listed === undefined ? new Set<StatusCode>() : statusCodes(scope, 'nonFatalStatusCodes');
  if (codes !== null && !codes.has(Status.UNAVAILABLE)) {
    const message = 'without UNAVAILABLE here, the loss of one backend ends the call and cancels its healthy hedges';
    const path = memberPath(scope.path, 'nonFatalStatusCodes');
    scope.report.add('hedging-without-unavailable', listed?.offset ?? scope.offset, path, message);
  }
  return codes ?? new Set();
}

/** Null where anything in it is wrong; all of that is reported. */
export function readHedgingPolicy(node: JsonNode, path: string, limit: number, report: Report): Policy | null {
  const scope = open(node, 'hedgingPolicy', path, report);
  if (scope === null) return null;
  const maxAttempts = readAttempts(scope, limit);
  const delay = optionalDuration(scope, 'hedgingDelay') ?? (0 as Millis);
  const nonFatal = readNonFatal(scope);
  return maxAttempts === null ? null : { kind: 'hedge', maxAttempts, delay, nonFatal };
}

/** Null where anything in it is wrong; all of that is reported. `policies`: those that it will throttle. */
export function readThrottling(
  node: JsonNode,
  path: string,
  policies: readonly Policy[],
  report: Report,
): Throttling | null {
  const scope = open(node, 'retryThrottling', path, report);
  if (scope === null) return null;
  const maxTokens = requiredInteger(scope, 'maxTokens', 1, mostTokens);
  const ratio = requiredPositiveNumber(scope, 'tokenRatio');
  const perSuccess = ratio === null ? 0 : thousandths(ratio.text);
  if (ratio !== null && perSuccess === 0) {
    const message = `must be 0.001 or more, digits past the third decimal are cut off; got ${ratio.text}`;
    report.add('out-of-range', ratio.offset, memberPath(path, 'tokenRatio'), message);
  }
  const effect = maxTokens !== null && maxTokens <= 2 ? effectOfSmallBucket(policies) : null;
  const member = scope.fields.get('maxTokens');
  if (effect !== null && member !== undefined) {
    const message = `one failure leaves even a full bucket at or under half: ${effect}; 3 is the least that lets one through`;
    report.add('throttle-too-small', member.value.offset, memberPath(path, 'maxTokens'), message);
  }
  if (maxTokens === null || perSuccess === 0) return null;
  const maxMilliTokens = maxTokens * 1000;
  return { maxMilliTokens, milliTokensPerSuccess: Math.min(perSuccess, maxMilliTokens) };
}

/** The failure that asks for another attempt takes its token first (A6, Throttling; THR-02, THR-03). */
function effectOfSmallBucket(policies: readonly Policy[]): string | null {
  const kinds = new Set(policies.map(({ kind }) => kind));
  if (kinds.has('retry')) return 'no call is ever retried';
  return kinds.has('hedge') ? 'no hedge ever follows a failure' : null;
}
