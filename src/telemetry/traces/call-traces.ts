import {
  type Attributes,
  type Context,
  createTraceState,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { MetadataField } from '../../grpc/metadata.js';
import { type IncomingTrace, putTrace, randomFlag, readTrace, type TraceContext } from '../../grpc/trace-context.js';
import type { CallRecord } from '../../proxy/observer.js';
import type { CallTrace, CancelCause, TracedAttempt, Tracing } from '../../proxy/tracing.js';
import {
  attemptFacts,
  callFacts,
  firstAttributes,
  methodOf,
  type Peer,
  type SpanFacts,
  spanName,
} from './span-facts.js';

/**
 * Makes the spans of calls with a tracer of OpenTelemetry's SDK.
 *
 * @param wallOffset what makes time since the epoch of the clock's (ms); asked once a call, so that a step of the wall clock
 * does not stretch one
 */
export function createCallTraces(tracer: Tracer, wallOffset: () => number): Tracing {
  return {
    begin({ path, fields }, startedAt) {
      const client = readTrace(fields);
      const method = methodOf(path);
      const offset = wallOffset();
      // Beside A72, which knows no proxies: with these kinds a map of services has an edge from the client and one to each
      // backend.
      const options = {
        kind: SpanKind.SERVER,
        startTime: startedAt + offset,
        attributes: firstAttributes(method) as Attributes,
      };
      const span = tracer.startSpan(spanName('Sent', method), options, parentOf(client));
      if (span.isRecording()) return new RecordedTrace(tracer, client, method, span, offset);
      // The decision that there is no trace has to be told, or each backend makes its own.
      return client.parent === null ? new UnrecordedTrace(client, contextOf(span, client)) : null;
    },
  };
}

function parentOf({ parent, state }: IncomingTrace): Context {
  if (parent === null) return ROOT_CONTEXT;
  const context: SpanContext = {
    traceId: parent.traceId,
    spanId: parent.spanId,
    traceFlags: parent.flags,
    isRemote: true,
    ...(state === '' ? {} : { traceState: createTraceState(state) }),
  };
  return trace.setSpanContext(ROOT_CONTEXT, context);
}

/** Whether a trace id is random is said by who made it (W3C 3.2.2.5.2). */
function contextOf(span: Span, client: IncomingTrace): TraceContext {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return { traceId, spanId, flags: traceFlags | ((client.parent?.flags ?? 0) & randomFlag) };
}

/** What is known of an attempt before its call's record is there. */
interface AttemptNotes {
  /** Null: its request has not been sent. */
  span: Span | null;
  peer: Peer | null;
  delayed: boolean;
  cancelled: CancelCause | null;
}

class RecordedTrace implements CallTrace {
  readonly recorded = true;
  private readonly tracer: Tracer;
  private readonly client: IncomingTrace;
  private readonly method: string;
  private readonly span: Span;
  private readonly offset: number;
  private readonly context: Context;
  private readonly attempts: AttemptNotes[] = [];
  committedAt: number | null = null;
  throttledAt: number | null = null;

  constructor(tracer: Tracer, client: IncomingTrace, method: string, span: Span, offset: number) {
    this.tracer = tracer;
    this.client = client;
    this.method = method;
    this.span = span;
    this.offset = offset;
    this.context = trace.setSpan(ROOT_CONTEXT, span);
  }

  attemptFields(fields: MetadataField[], { id, startedAt, backend }: TracedAttempt): void {
    const notes = this.notesOf(id);
    notes.span = this.startAttempt(startedAt);
    notes.peer = backend === null ? null : { endpoint: backend.endpoint, host: backend.host };
    putTrace(fields, contextOf(notes.span, this.client), this.client);
  }

  delayed(attempt: number): void {
    this.notesOf(attempt).delayed = true;
  }

  committed(at: number): void {
    this.committedAt = at;
  }

  throttled(at: number): void {
    this.throttledAt = at;
  }

  cancelled(attempt: number, why: CancelCause): void {
    this.notesOf(attempt).cancelled = why;
  }

  ended(record: CallRecord): void {
    record.attempts.forEach((attempt, index) => {
      const notes = this.notesOf(index + 1);
      this.finish(notes.span ?? this.startAttempt(attempt.startedAt), attemptFacts(attempt, notes, record.endedAt));
    });
    this.finish(this.span, callFacts(record, this));
  }

  private notesOf(attempt: number): AttemptNotes {
    let notes = this.attempts[attempt - 1];
    if (notes === undefined) {
      notes = { span: null, peer: null, delayed: false, cancelled: null };
      this.attempts[attempt - 1] = notes;
    }
    return notes;
  }

  private startAttempt(startedAt: number): Span {
    const { method, offset } = this;
    const options = {
      kind: SpanKind.CLIENT,
      startTime: startedAt + offset,
      attributes: firstAttributes(method) as Attributes,
    };
    return this.tracer.startSpan(spanName('Attempt', method), options, this.context);
  }

  private finish(span: Span, { attributes, events, error, endedAt }: SpanFacts): void {
    span.setAttributes({ ...attributes });
    for (const event of events) span.addEvent(event.name, { ...event.attributes }, event.at + this.offset);
    if (error === null) span.setStatus({ code: SpanStatusCode.OK });
    else span.setStatus({ code: SpanStatusCode.ERROR, message: error });
    span.end(endedAt + this.offset);
  }
}

/** A call without a trace that it is part of, and none was begun: backends are told, nothing is kept. */
class UnrecordedTrace implements CallTrace {
  readonly recorded = false;
  private readonly client: IncomingTrace;
  private readonly context: TraceContext;

  constructor(client: IncomingTrace, context: TraceContext) {
    this.client = client;
    this.context = context;
  }

  attemptFields(fields: MetadataField[]): void {
    putTrace(fields, this.context, this.client);
  }

  delayed(): void {}
  committed(): void {}
  throttled(): void {}
  cancelled(): void {}
  ended(): void {}
}
