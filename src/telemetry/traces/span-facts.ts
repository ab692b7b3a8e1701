import { legible } from '../../grpc/legible.js';
import { Status, type StatusCode, statusName } from '../../grpc/status.js';
import type { AttemptRecord, CallRecord } from '../../proxy/observer.js';
import type { CancelCause } from '../../proxy/tracing.js';
import type { Endpoint } from '../../upstream/types.js';

export type Attributes = Readonly<Record<string, string | number | boolean>>;

export interface SpanEvent {
  readonly name: string;
  /** Clock milliseconds, as all times here. */
  readonly at: number;
  readonly attributes: Attributes;
}

/** What is known of a span when it ends. */
export interface SpanFacts {
  readonly attributes: Attributes;
  /** In order of time. */
  readonly events: readonly SpanEvent[];
  /** Null: OK. Else what the status says: its code, and the words where there are any (A72, "include their code"). */
  readonly error: string | null;
  readonly endedAt: number;
}

/** What happened in a call that its record does not hold. */
export interface CallMoments {
  /** Null: it was never committed. */
  readonly committedAt: number | null;
  /** Null: the throttle stopped nothing. */
  readonly throttledAt: number | null;
}

/** The same of an attempt. */
export interface AttemptMoments {
  /** It had to wait for its place. */
  readonly delayed: boolean;
  /** Why we ended it; null: we did not. */
  readonly cancelled: CancelCause | null;
  /** Where its backend is; null: it reached none. */
  readonly peer: Peer | null;
}

export interface Peer {
  readonly endpoint: Endpoint;
  /** The host name that led there; null: none did. */
  readonly host: string | null;
}

/** `pkg.Service/Method`, as OpenTelemetry names a method: without the slash of its path, fit for a terminal. */
export function methodOf(path: string): string {
  return legible(path.startsWith('/') ? path.slice(1) : path);
}

/** A72: `Sent.` for a call, `Attempt.` for an attempt, then the method with dots. */
export function spanName(kind: 'Sent' | 'Attempt', method: string): string {
  return `${kind}.${method.replaceAll('/', '.')}`;
}

/** What a sampler may look at when a span begins. */
export function firstAttributes(method: string): Attributes {
  return { 'rpc.system.name': 'grpc', 'rpc.method': method };
}

/** What the span of a call ends with. */
export function callFacts(record: CallRecord, { committedAt, throttledAt }: CallMoments): SpanFacts {
  const { code, commit } = record;
  const attributes: Record<string, string | number | boolean> = {
    ...statusAttributes(code),
    'hedgerow.call_id': record.id,
    'hedgerow.stop_reason': record.reason,
    'hedgerow.retries': record.retries,
  };
  if (commit !== null) attributes['hedgerow.commit'] = commit;
  if (code !== Status.OK) {
    attributes['hedgerow.origin'] = record.origin;
    attributes['hedgerow.processed'] = record.processed;
  }
  if (record.pin !== null) attributes['hedgerow.pin'] = record.pin.target;
  const events: SpanEvent[] = backoffs(record.attempts);
  if (committedAt !== null) events.push({ name: 'commit', at: committedAt, attributes: commitAttributes(commit) });
  if (throttledAt !== null) events.push({ name: 'throttled', at: throttledAt, attributes: {} });
  events.sort((a, b) => a.at - b.at);
  return { attributes, events, error: errorOf(code, record.message), endedAt: record.endedAt };
}

/** Each wait before a retry, from the end of the attempt before it. */
function backoffs(attempts: readonly AttemptRecord[]): SpanEvent[] {
  const events: SpanEvent[] = [];
  let last: AttemptRecord | null = null;
  for (const attempt of attempts) {
    if (attempt.cause === 'retry' && last !== null)
      events.push({
        name: 'backoff',
        at: last.endedAt,
        attributes: { 'hedgerow.backoff_ms': rounded(attempt.startedAt - last.endedAt) },
      });
    last = attempt;
  }
  return events;
}

function commitAttributes(commit: CallRecord['commit']): Attributes {
  return commit === null ? {} : { 'hedgerow.commit': commit };
}

/** What the span of an attempt ends with. @param callEndedAt for one that the call's end left without an end of its own */
export function attemptFacts(attempt: AttemptRecord, moments: AttemptMoments, callEndedAt: number): SpanFacts {
  const { code, startedAt, sentAt, pushback, backend, trigger } = attempt;
  const endedAt = attempt.endedAt < startedAt ? callEndedAt : attempt.endedAt;
  const attributes: Record<string, string | number | boolean> = {
    'previous-rpc-attempts': attempt.previous,
    'transparent-retry': attempt.cause === 'transparent',
    ...statusAttributes(code),
    ...(moments.peer === null ? {} : peerAttributes(moments.peer)),
    'hedgerow.cause': attempt.cause,
    'hedgerow.result': attempt.result,
  };
  if (backend !== null) attributes['hedgerow.backend'] = backend;
  if (trigger !== null) attributes['hedgerow.trigger'] = trigger;
  const events: SpanEvent[] = [];
  if (moments.delayed && sentAt !== null) events.push({ name: 'Delayed LB pick complete', at: sentAt, attributes: {} });
  if (pushback.kind !== 'none') {
    const asked: Attributes =
      pushback.kind === 'never' ? { 'hedgerow.pushback': 'never' } : { 'hedgerow.pushback_ms': pushback.ms };
    events.push({ name: 'pushback', at: endedAt, attributes: asked });
  }
  if (attempt.result === 'cancelled' && moments.cancelled !== null)
    events.push({ name: 'cancelled', at: endedAt, attributes: { 'hedgerow.cancelled_by': moments.cancelled } });
  return { attributes, events, error: errorOf(code, attempt.message), endedAt };
}

function statusAttributes(code: StatusCode): Attributes {
  const name = statusName(code);
  const status = { 'rpc.response.status_code': name };
  return code === Status.OK ? status : { ...status, 'error.type': name };
}

/** OpenTelemetry, RPC spans: the name that was asked for, and the address that it led to. */
function peerAttributes({ endpoint, host }: Peer): Attributes {
  if (endpoint.kind === 'unix')
    return { 'server.address': endpoint.path, 'network.peer.address': endpoint.path, 'network.transport': 'unix' };
  return {
    'server.address': host ?? endpoint.host,
    'server.port': endpoint.port,
    'network.peer.address': endpoint.host,
    'network.peer.port': endpoint.port,
  };
}

function errorOf(code: StatusCode, message: string): string | null {
  if (code === Status.OK) return null;
  return message === '' ? statusName(code) : `${statusName(code)}: ${legible(message)}`;
}

/** Milliseconds to the microsecond. */
function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
