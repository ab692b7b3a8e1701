import type { BalancingConfig } from '../grpc/balancing-config.js';
import type { Plan } from '../policy/types.js';
import { compileMethods, type MethodPolicy } from './methods.js';
import type { MethodName } from './names.js';
import type { Throttling } from './policy-grammar.js';
import { describeCodes, shortPlan, showMillis } from './policy-words.js';
import { printable } from './quote.js';
import type { ServiceConfig } from './service-config.js';

/**
 * What calls will notice of a new config: one line for each name of either config whose methods get another policy, whether by
 * an entry of their own or by a default that they fall back to, then one for the bucket and one for how backends are chosen. Names in the order of `after`, those
 * that are gone last. Empty where no call can tell the two apart.
 */
export function diffConfigs(before: ServiceConfig, after: ServiceConfig): readonly string[] {
  const [was, is] = [pathsOf(before), pathsOf(after)];
  const [from, to] = [compileMethods(before), compileMethods(after)];
  const lines = [...new Set([...is.keys(), ...was.keys()])].flatMap((path) => {
    const changes = policyChanges(from.lookup(path), to.lookup(path));
    if (changes.length === 0) return [];
    const fate = !was.has(path) ? ' (added)' : !is.has(path) ? ' (removed)' : '';
    return [`${printable(is.get(path) ?? was.get(path) ?? path)}${fate}: ${changes.join('; ')}`];
  });
  const bucket = change('retryThrottling:', showBucket(before.throttling), showBucket(after.throttling));
  const balancing = change('load balancing:', showBalancing(before.balancing), showBalancing(after.balancing));
  return [...lines, ...bucket, ...balancing];
}

/** A path that only this name decides, for each name that can match a call; with how it is told. */
function pathsOf(config: ServiceConfig): ReadonlyMap<string, string> {
  const paths = new Map<string, string>();
  for (const { names } of config.methodConfig) {
    for (const name of names) {
      const [path, label] = pathOf(name);
      if (name.kind !== 'method' || !name.method.includes('/')) paths.set(path, label);
    }
  }
  return paths;
}

function pathOf(name: MethodName): readonly [path: string, label: string] {
  switch (name.kind) {
    case 'all':
      return ['', 'all other methods'];
    case 'service':
      return [`/${name.service}/`, `/${name.service}/*`];
    case 'method':
      return [`/${name.service}/${name.method}`, `/${name.service}/${name.method}`];
    default:
      return name satisfies never;
  }
}

function policyChanges(from: MethodPolicy, to: MethodPolicy): readonly string[] {
  const time = (policy: MethodPolicy) => (policy.timeout === null ? 'none' : showMillis(policy.timeout));
  return [
    ...planChanges(from.plan, to.plan),
    ...change('timeout', time(from), time(to)),
    ...change('waitForReady', String(from.waitForReady), String(to.waitForReady)),
    ...change('maxRequestMessageBytes', showBytes(from.maxRequestMessageBytes), showBytes(to.maxRequestMessageBytes)),
    ...change(
      'maxResponseMessageBytes',
      showBytes(from.maxResponseMessageBytes),
      showBytes(to.maxResponseMessageBytes),
    ),
  ];
}

/** The whole of both plans where their kinds differ, else the fields that do. */
function planChanges(from: Plan, to: Plan): readonly string[] {
  if (from.kind === 'retry' && to.kind === 'retry') {
    return [
      ...change('maxAttempts', String(from.maxAttempts), String(to.maxAttempts)),
      ...change('initialBackoff', showMillis(from.initialBackoff), showMillis(to.initialBackoff)),
      ...change('maxBackoff', showMillis(from.maxBackoff), showMillis(to.maxBackoff)),
      ...change('backoffMultiplier', String(from.multiplier), String(to.multiplier)),
      ...change('retryableStatusCodes', describeCodes(from.retryable), describeCodes(to.retryable)),
    ];
  }
  if (from.kind === 'hedge' && to.kind === 'hedge') {
    return [
      ...change('maxAttempts', String(from.maxAttempts), String(to.maxAttempts)),
      ...change('hedgingDelay', showMillis(from.delay), showMillis(to.delay)),
      ...change('nonFatalStatusCodes', describeCodes(from.nonFatal), describeCodes(to.nonFatal)),
    ];
  }
  return from.kind === to.kind ? [] : [`${shortPlan(from)} → ${shortPlan(to)}`];
}

function change(what: string, from: string, to: string): readonly string[] {
  return from === to ? [] : [`${what} ${from} → ${to}`];
}

function showBytes(bytes: number | null): string {
  return bytes === null ? 'none' : String(bytes);
}

function showBucket(bucket: Throttling | null): string {
  if (bucket === null) return 'none';
  return `${bucket.maxMilliTokens / 1000} tokens, ratio ${bucket.milliTokensPerSuccess / 1000}`;
}

function showBalancing(balancing: BalancingConfig | null): string {
  switch (balancing?.kind) {
    case undefined:
      return 'as --load-balancing says';
    case 'round_robin':
      return 'round_robin';
    case 'pick_first':
      return balancing.shuffle ? 'pick_first, shuffled' : 'pick_first';
    case 'least_request':
      return `least_request of ${balancing.choiceCount}`;
    default:
      return balancing satisfies never;
  }
}
