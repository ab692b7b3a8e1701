/*
 * Service configs for every method, and a call's own account of itself.
 */

import type { RawCall } from './raw-client.js';

export interface HedgingOptions {
  /** [3] */
  readonly maxAttempts?: number;
  /** Milliseconds [100]. */
  readonly delay?: number;
  /** [UNAVAILABLE] */
  readonly codes?: readonly (string | number)[];
  /** maxTokens and tokenRatio. */
  readonly throttling?: readonly [maxTokens: number, tokenRatio: number];
}

/** A service config that hedges every method. */
export function hedgeConfig(options: HedgingOptions = {}): object {
  const { maxAttempts = 3, delay = 100, codes = ['UNAVAILABLE'] } = options;
  return {
    methodConfig: [
      { name: [{}], hedgingPolicy: { maxAttempts, hedgingDelay: `${delay / 1000}s`, nonFatalStatusCodes: codes } },
    ],
    ...throttled(options.throttling),
  };
}

/** The top level's retryThrottling; nothing without one. */
export function throttled(throttling?: readonly [maxTokens: number, tokenRatio: number]): object {
  if (throttling === undefined) return {};
  const [maxTokens, tokenRatio] = throttling;
  return { retryThrottling: { maxTokens, tokenRatio } };
}

/** What the trailers say of a call, by the keys without their prefix; absent ones are left out. */
export function account(call: RawCall): Record<string, string> {
  const lines = (call.trailers ?? []).filter(([name]) => name.startsWith('hedgerow-') && !name.endsWith('call-id'));
  return Object.fromEntries(lines.map(([name, value]) => [name.slice('hedgerow-'.length), value]));
}
