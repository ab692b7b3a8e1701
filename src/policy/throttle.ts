/** A retryThrottling, in thousandths of a token, so that a thousand credits of 0.1 are exactly a hundred (THR-22). */
export interface ThrottleLimits {
  /** A multiple of 1000, from 1000 to 1 000 000. */
  readonly maxMilliTokens: number;
  /** From 1 to `maxMilliTokens`. */
  readonly milliTokensPerSuccess: number;
}

/** The token bucket that all calls of this process share (A6, Throttling; THR-16). */
export interface Throttle {
  /** Whether the bucket stands at or under half, once a failure is debited where `debit` says that one is to be (THR-05). */
  isShut(debit: boolean): boolean;
  /** Takes a whole token for a failure, gives the ratio for a success; stays within 0 and the maximum. */
  count(as: 'failure' | 'success'): void;
  /** Other limits scale what is left in proportion, the same keep it, null ends throttling (THR-17, THR-18). */
  configure(limits: ThrottleLimits | null): void;
  /** A call's next attempt was held back, for the first time in that call. */
  suppress(): void;
  /** How often that was. */
  readonly suppressed: number;
  /** In thousandths; null where nothing throttles. */
  readonly state: { readonly milliTokens: number; readonly limits: ThrottleLimits } | null;
}

const milliTokensPerFailure = 1000;

/** A full bucket, or none. */
export function createThrottle(first: ThrottleLimits | null): Throttle {
  let limits = first;
  let milliTokens = first?.maxMilliTokens ?? 0;
  let suppressed = 0;
  return {
    isShut(debit) {
      if (limits === null) return false;
      const left = debit ? Math.max(0, milliTokens - milliTokensPerFailure) : milliTokens;
      return left * 2 <= limits.maxMilliTokens;
    },
    count(as) {
      if (limits === null) return;
      milliTokens =
        as === 'failure'
          ? Math.max(0, milliTokens - milliTokensPerFailure)
          : Math.min(limits.maxMilliTokens, milliTokens + limits.milliTokensPerSuccess);
    },
    configure(next) {
      if (next !== null) {
        milliTokens =
          limits === null
            ? next.maxMilliTokens
            : Math.floor((milliTokens * next.maxMilliTokens) / limits.maxMilliTokens);
      }
      limits = next;
    },
    suppress() {
      suppressed += 1;
    },
    get suppressed() {
      return suppressed;
    },
    get state() {
      return limits === null ? null : { milliTokens, limits };
    },
  };
}
