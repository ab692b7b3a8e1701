import type { CallRecord } from '../../src/proxy/observer.js';
import { allOf, firstOf, type Lines, type LogEntry } from '../support/call-log.js';
import { type ClientCallPlan, callOfPath, type RunScript } from '../support/call-script.js';
import { answerKey } from '../support/virtual-backend.js';
import type { Caller } from '../support/virtual-client.js';
import type { VirtualProxy } from '../support/virtual-proxy.js';

/*
 * What a run's log says, put together by call, and read without the code under test: the service config as plain JSON,
 * statuses and pushbacks as A6 and gRPC's PROTOCOL-HTTP2 word them.
 */

/** When something happened: its place in the log orders what falls into one instant. */
export interface Moment {
  readonly at: number;
  readonly index: number;
}

export type PushbackSaid = 'none' | 'never' | number;

/** How one stream to a backend ended. */
export interface StreamEnding extends Moment {
  readonly code: number;
  readonly pushback: PushbackSaid;
  readonly proof: 'refused' | 'unsent' | 'none';
  readonly lost: boolean;
  /** The backend said the status itself, in trailers or Trailers-Only. */
  readonly stated: boolean;
}

/** One stream to a backend. */
export interface StreamFacts {
  readonly number: number;
  readonly backend: string;
  readonly request: Lines;
  readonly opened: Moment;
  /** Response headers that were not Trailers-Only. */
  headers: Moment | null;
  /** What marks the answer as this attempt's own; null: none has come. */
  mark: string | null;
  end: StreamEnding | null;
  /** The proxy reset it, before its end or after. */
  dropped: Moment | null;
  readonly answerBytes: (Moment & { readonly bytes: number })[];
  readonly requestSent: (Moment & { readonly bytes: number })[];
}

export interface CallFacts {
  readonly call: number;
  readonly plan: ClientCallPlan;
  readonly caller: Caller;
  readonly policy: PolicyFacts;
  readonly arrived: Moment;
  readonly streams: StreamFacts[];
  readonly told: (Moment & { readonly lines: Lines; readonly endStream: boolean })[];
  readonly toldBytes: (Moment & { readonly bytes: number })[];
  readonly requestBytes: (Moment & { readonly bytes: number; readonly last: boolean })[];
  gone: Moment | null;
  records: (Moment & { readonly record: CallRecord })[];
  /** Of the client or the config, whichever is sooner. */
  readonly deadline: number;
  readonly pins: Pick<RunScript, 'pin' | 'pinSameBackendRetry'>;
  /** How late the proxy may be with what is due (ms). */
  readonly late: number;
  /** A bucket may keep attempts from being made. */
  readonly throttled: boolean;
}

/** What the config text says of one method. */
export interface PolicyFacts {
  readonly kind: 'none' | 'retry' | 'hedge';
  readonly maxAttempts: number;
  readonly codes: ReadonlySet<number>;
  readonly initialBackoff: number;
  readonly maxBackoff: number;
  readonly multiplier: number;
  readonly delay: number;
  readonly timeout: number | null;
  readonly waitForReady: boolean;
  readonly maxRequest: number | null;
  readonly maxResponse: number | null;
}

export interface Throttling {
  readonly max: number;
  readonly perSuccess: number;
}

const codeNumbers: Readonly<Record<string, number>> = {
  CANCELLED: 1,
  RESOURCE_EXHAUSTED: 8,
  ABORTED: 10,
  INTERNAL: 13,
  UNAVAILABLE: 14,
};

interface EntryText {
  readonly retryPolicy?: {
    readonly maxAttempts: number;
    readonly initialBackoff: string;
    readonly maxBackoff: string;
    readonly backoffMultiplier: number;
    readonly retryableStatusCodes: readonly string[];
  };
  readonly hedgingPolicy?: {
    readonly maxAttempts: number;
    readonly hedgingDelay?: string;
    readonly nonFatalStatusCodes?: readonly string[];
  };
  readonly timeout?: string;
  readonly waitForReady?: boolean;
  readonly maxRequestMessageBytes?: number;
  readonly maxResponseMessageBytes?: number;
}

interface ConfigText {
  readonly methodConfig: readonly EntryText[];
  readonly retryThrottling?: { readonly maxTokens: number; readonly tokenRatio: number };
}

function msOf(text: string): number {
  return Math.round(Number(text.slice(0, -1)) * 1000);
}

/** The policy of each method of the script, in order. */
export function policiesOf(config: string): readonly PolicyFacts[] {
  const { methodConfig } = JSON.parse(config) as ConfigText;
  return methodConfig.map((entry) => {
    const { retryPolicy: retry, hedgingPolicy: hedging } = entry;
    const names = retry?.retryableStatusCodes ?? hedging?.nonFatalStatusCodes ?? [];
    return {
      kind: retry !== undefined ? 'retry' : hedging !== undefined ? 'hedge' : 'none',
      maxAttempts: Math.min(5, retry?.maxAttempts ?? hedging?.maxAttempts ?? 1),
      codes: new Set(names.map((name) => codeNumbers[name] ?? -1)),
      initialBackoff: msOf(retry?.initialBackoff ?? '0s'),
      maxBackoff: msOf(retry?.maxBackoff ?? '0s'),
      multiplier: retry?.backoffMultiplier ?? 1,
      delay: msOf(hedging?.hedgingDelay ?? '0s'),
      timeout: entry.timeout === undefined ? null : msOf(entry.timeout),
      waitForReady: entry.waitForReady ?? false,
      maxRequest: entry.maxRequestMessageBytes ?? null,
      maxResponse: entry.maxResponseMessageBytes ?? null,
    };
  });
}

/** In thousandths of a token; null where the config has none. */
export function throttlingOf(config: string): Throttling | null {
  const { retryThrottling: throttling } = JSON.parse(config) as ConfigText;
  if (throttling === undefined) return null;
  const max = throttling.maxTokens * 1000;
  return { max, perSuccess: Math.min(max, Math.floor(throttling.tokenRatio * 1000 + 1e-9)) };
}

/** A6, Pushback: a signed 32-bit number without superfluous zeros; below 0, malformed or twice: never. */
export function pushbackSaid(lines: Lines): PushbackSaid {
  const values = allOf(lines, 'grpc-retry-pushback-ms');
  const [value] = values;
  if (value === undefined) return 'none';
  if (values.length > 1 || !/^(0|[1-9]\d*)$/.test(value) || Number(value) > 2_147_483_647) return 'never';
  return Number(value);
}

/** PROTOCOL-HTTP2, Errors. */
const resetStatus: Readonly<Record<number, number>> = { 7: 14, 8: 1, 11: 8, 12: 7, 13: 14 };

function endingOf(entry: LogEntry, moment: Moment): StreamEnding | null {
  const plain = { ...moment, pushback: 'none', proof: 'none', lost: false, stated: false } as const;
  switch (entry.kind) {
    case 'headers':
    case 'trailers':
      if (entry.kind === 'headers' && !entry.endStream) return null;
      return {
        ...plain,
        code: Number(firstOf(entry.lines, 'grpc-status')),
        pushback: pushbackSaid(entry.lines),
        stated: true,
      };
    case 'ended': {
      const { end } = entry;
      if (end.kind === 'goaway') return { ...plain, code: 14, proof: 'refused' };
      if (end.kind === 'lost') return { ...plain, code: 14, lost: true, proof: end.flushed ? 'none' : 'unsent' };
      if (end.kind !== 'reset') throw new Error(`a scripted backend broke HTTP/2: ${JSON.stringify(end)}`);
      return { ...plain, code: resetStatus[end.code] ?? 13, proof: end.code === 7 ? 'refused' : 'none' };
    }
    default:
      return null;
  }
}

/** All calls that reached the proxy, by their number in the script. */
export function factsOf(script: RunScript, proxy: VirtualProxy): readonly CallFacts[] {
  const policies = policiesOf(script.config);
  const throttled = throttlingOf(script.config) !== null;
  const calls = new Map<number, CallFacts>();
  const streams = new Map<number, StreamFacts>();
  proxy.log.entries.forEach((entry, index) => {
    const moment: Moment = { at: entry.at, index };
    const facts = 'call' in entry ? calls.get(entry.call) : undefined;
    const stream = 'opened' in entry ? streams.get(entry.opened.number) : undefined;
    switch (entry.kind) {
      case 'arrived': {
        const { call } = entry;
        const plan = script.calls[call];
        const caller = proxy.callers[call];
        const policy = policies[plan?.service ?? 0];
        if (plan === undefined || caller === undefined || policy === undefined) throw new Error(`no call ${call}`);
        const timeouts = [plan.timeout, policy.timeout].filter((one) => one !== null);
        const deadline = entry.at + Math.min(Number.POSITIVE_INFINITY, ...timeouts);
        calls.set(call, {
          ...{
            call,
            plan,
            caller,
            policy,
            arrived: moment,
            deadline,
            gone: null,
            pins: script,
            late: script.alarmsLate,
            throttled,
          },
          ...{ streams: [], told: [], toldBytes: [], requestBytes: [], records: [] },
        });
        return;
      }
      case 'opened': {
        const { number, backend, request, call } = entry.opened;
        const one: StreamFacts = {
          ...{
            number,
            backend,
            request,
            opened: moment,
            headers: null,
            mark: null,
            end: null,
            dropped: null,
            answerBytes: [],
            requestSent: [],
          },
        };
        streams.set(number, one);
        calls.get(call)?.streams.push(one);
        return;
      }
      case 'headers':
      case 'trailers':
      case 'ended':
        if (stream === undefined) return;
        if (entry.kind === 'headers' && !entry.endStream) stream.headers = moment;
        if (entry.kind === 'headers') stream.mark = firstOf(entry.lines, answerKey);
        // What comes after a complete answer is how the peer stops our upload.
        stream.end ??= endingOf(entry, moment);
        return;
      case 'answerBytes':
        stream?.answerBytes.push({ ...moment, bytes: entry.bytes });
        return;
      case 'requestSent':
        stream?.requestSent.push({ ...moment, bytes: entry.bytes });
        return;
      case 'dropped':
        if (stream !== undefined) stream.dropped = moment;
        return;
      case 'requestBytes':
        facts?.requestBytes.push({ ...moment, bytes: entry.bytes, last: entry.last });
        return;
      case 'told':
        facts?.told.push({ ...moment, lines: entry.lines, endStream: entry.endStream });
        return;
      case 'toldBytes':
        facts?.toldBytes.push({ ...moment, bytes: entry.bytes });
        return;
      case 'gone':
        if (facts !== undefined) facts.gone ??= moment;
        return;
      case 'counted':
        return;
      case 'record': {
        const call = callOfPath(entry.record.method);
        calls.get(call)?.records.push({ ...moment, record: entry.record });
        return;
      }
      default:
        entry satisfies never;
    }
  });
  return [...calls.values()];
}

/** When the call was over for its client: told, or gone. */
export function endOf({ told, gone }: CallFacts): Moment | null {
  const last = told.find(({ endStream }) => endStream) ?? null;
  if (last === null || gone === null) return last ?? gone;
  return last.index < gone.index ? last : gone;
}

export function recordOf(facts: CallFacts): CallRecord | null {
  return facts.records[0]?.record ?? null;
}

export function directive({ plan }: CallFacts, key: string): string | null {
  return plan.directives.find(([name]) => name === key)?.[1] ?? null;
}

/** Whether the policy may act on this call. */
export function hasPolicy(facts: CallFacts): boolean {
  return facts.policy.kind !== 'none' && directive(facts, 'retry') !== 'off';
}

/** The backend that a strict pin names. */
export function strictPin(facts: CallFacts): string | null {
  const pin = directive(facts, 'pin');
  if (pin === null || facts.pins.pin === 'first-attempt') return null;
  return directive(facts, 'allow-retry') !== null ? null : pin.toLowerCase();
}

/** The most attempts of its policy that a call may make; a strict pin leaves a retry at most where the operator lets it (D2, D5). */
export function mostAttempts(facts: CallFacts): number {
  if (!hasPolicy(facts)) return 1;
  const { policy, pins } = facts;
  if (strictPin(facts) === null) return policy.maxAttempts;
  return pins.pinSameBackendRetry && policy.kind === 'retry' ? policy.maxAttempts : 1;
}

/** How many policy attempts the backend was told of before this one, of our own counting. */
export function previousOf({ plan }: CallFacts, { request }: StreamFacts): number {
  return Number(firstOf(request, 'grpc-previous-rpc-attempts') ?? 0) - (plan.previous === '3' ? 3 : 0);
}
