import type { BalancingConfig } from '../grpc/balancing-config.js';
import { type StatusCode, statusName } from '../grpc/status.js';
import type { MethodName } from './names.js';
import type { Policy, Throttling } from './policy-grammar.js';
import { showProtoDuration } from './proto-duration.js';
import type { MethodConfig, ServiceConfig } from './service-config.js';

/**
 * A service config as JSON, in one spelling: what has no effect is left out, and reading it again gives the same config.
 * Attempts are as written; the cap of --max-attempts-limit is a setting.
 */
export function showServiceConfig({ methodConfig, throttling, balancing }: ServiceConfig): object {
  return {
    methodConfig: methodConfig.map(showEntry),
    ...(throttling === null ? {} : { retryThrottling: showThrottling(throttling) }),
    ...(balancing === null ? {} : { loadBalancingConfig: [showBalancing(balancing)] }),
  };
}

function showEntry(entry: MethodConfig): object {
  const { names, policy, timeout, waitForReady, maxRequestMessageBytes, maxResponseMessageBytes } = entry;
  return {
    name: names.map(showName),
    ...(timeout === null ? {} : { timeout: showProtoDuration(timeout) }),
    ...(waitForReady === null ? {} : { waitForReady }),
    ...(maxRequestMessageBytes === null ? {} : { maxRequestMessageBytes }),
    ...(maxResponseMessageBytes === null ? {} : { maxResponseMessageBytes }),
    ...showPolicy(policy),
  };
}

function showName(name: MethodName): object {
  switch (name.kind) {
    case 'method':
      return { service: name.service, method: name.method };
    case 'service':
      return { service: name.service };
    case 'all':
      return {};
    default:
      return name satisfies never;
  }
}

function showPolicy(policy: Policy): object {
  switch (policy.kind) {
    case 'none':
      return {};
    case 'retry':
      return {
        retryPolicy: {
          maxAttempts: policy.maxAttempts,
          initialBackoff: showProtoDuration(policy.initialBackoff),
          maxBackoff: showProtoDuration(policy.maxBackoff),
          backoffMultiplier: policy.multiplier,
          retryableStatusCodes: showCodes(policy.retryable),
        },
      };
    case 'hedge':
      return {
        hedgingPolicy: {
          maxAttempts: policy.maxAttempts,
          hedgingDelay: showProtoDuration(policy.delay),
          nonFatalStatusCodes: showCodes(policy.nonFatal),
        },
      };
    default:
      return policy satisfies never;
  }
}

function showCodes(codes: ReadonlySet<StatusCode>): readonly string[] {
  return [...codes].toSorted((a, b) => a - b).map(statusName);
}

function showThrottling({ maxMilliTokens, milliTokensPerSuccess }: Throttling): object {
  return { maxTokens: maxMilliTokens / 1000, tokenRatio: milliTokensPerSuccess / 1000 };
}

function showBalancing(balancing: BalancingConfig): object {
  switch (balancing.kind) {
    case 'round_robin':
      return { round_robin: {} };
    case 'pick_first':
      return { pick_first: { shuffleAddressList: balancing.shuffle } };
    case 'least_request':
      return { least_request_experimental: { choiceCount: balancing.choiceCount } };
    default:
      return balancing satisfies never;
  }
}
