import { SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BasicTracerProvider,
  InMemorySpanExporter,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { describe, expect, it } from 'vitest';
import { wallOffset } from '../../../../src/app/wall-offset.js';
import type { MetadataField } from '../../../../src/grpc/metadata.js';
import type { CallTrace, Tracing } from '../../../../src/proxy/tracing.js';
import { createTurnClock } from '../../../../src/runtime/clock.js';
import { createCallTraces } from '../../../../src/telemetry/traces/call-traces.js';
import { attempt, call, failed } from '../../demo/records.js';
import { lines, pairs } from '../../grpc/lines.js';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';
const path = '/pkg.S/M';
/** From the clock's milliseconds to those of the day, at 2024-07-03. */
const offset = 1_720_000_000_000;

function maker(
  sampler: Sampler = new ParentBasedSampler({ root: new AlwaysOnSampler() }),
  offsetNow = () => offset,
): {
  tracing: Tracing;
  spans(): readonly ReadableSpan[];
} {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ sampler, spanProcessors: [new SimpleSpanProcessor(exporter)] });
  return {
    tracing: createCallTraces(provider.getTracer('test'), offsetNow),
    spans: () => exporter.getFinishedSpans(),
  };
}

function begin(tracing: Tracing, fields: readonly MetadataField[] = []): CallTrace {
  const trace = tracing.begin({ path, fields }, 1000);
  if (trace === null) throw new Error('there is a trace');
  return trace;
}

const backend = { host: null, endpoint: { kind: 'tcp', host: '10.0.0.7', port: 50051 } } as const;

function attributesOf(spans: readonly ReadableSpan[], key: string): unknown[] {
  return spans.map(({ attributes }) => attributes[key]);
}

const at = (ms: number): [number, number] => [1_720_000_000 + Math.floor(ms / 1000), (ms % 1000) * 1e6];

describe('the trace of a call', () => {
  it('has the times of the day however long a turn of the loop takes, in which the clock stands still', () => {
    let steady = 1000;
    const clock = createTurnClock({ now: () => steady }, () => {});
    const { tracing, spans } = maker(undefined, () => wallOffset(clock, () => offset + steady));
    expect(clock.now()).toBe(1000);
    for (const late of [0, 400]) {
      steady = 1000 + late;
      expect(clock.now()).toBe(1000);
      begin(tracing).ended(call({}));
    }
    const whole = spans().filter(({ name }) => name.startsWith('Sent'));
    expect(whole.map(({ startTime, endTime }) => [startTime, endTime])).toEqual([
      [at(1000), at(1100)],
      [at(1000), at(1100)],
    ]);
  });

  it('is put together at its end, with the times that its record says', () => {
    const { tracing, spans } = maker();
    const trace = begin(tracing);
    expect(trace.recorded).toBe(true);
    const sent: MetadataField[][] = [];
    for (const [id, startedAt] of [
      [1, 1000],
      [2, 1030],
    ] as const) {
      const fields = [...lines([['x-own', '1']])];
      trace.attemptFields(fields, { id, startedAt, backend });
      sent.push(fields);
    }
    trace.committed(1050);
    expect(spans()).toEqual([]);
    trace.ended(call({ attempts: [failed('a', 0, 10), attempt('b', 30, 100, { cause: 'retry' })], retries: 1 }));
    const [first, second, whole] = spans();
    expect([first?.name, second?.name, whole?.name]).toEqual(['Attempt.pkg.S.M', 'Attempt.pkg.S.M', 'Sent.pkg.S.M']);
    expect(whole).toMatchObject({ kind: SpanKind.SERVER, startTime: at(1000), endTime: at(1100) });
    expect(first).toMatchObject({
      kind: SpanKind.CLIENT,
      startTime: at(1000),
      endTime: at(1010),
      status: { code: SpanStatusCode.ERROR, message: 'UNAVAILABLE: no' },
    });
    expect(second).toMatchObject({ startTime: at(1030), endTime: at(1100), status: { code: SpanStatusCode.OK } });
    expect(whole?.events.map(({ name, time }) => [name, time])).toEqual([
      ['backoff', at(1010)],
      ['commit', at(1050)],
    ]);
    const context = whole?.spanContext();
    for (const [nth, span] of [first, second].entries()) {
      expect(span?.parentSpanContext?.spanId).toBe(context?.spanId);
      expect(pairs(sent[nth] ?? [])).toEqual([
        ['x-own', '1'],
        ['traceparent', `00-${context?.traceId}-${span?.spanContext().spanId}-01`],
      ]);
    }
    for (const span of spans())
      expect(span.attributes).toMatchObject({ 'rpc.system.name': 'grpc', 'rpc.method': 'pkg.S/M' });
    expect(attributesOf(spans(), 'server.address')).toEqual(['10.0.0.7', '10.0.0.7', undefined]);
  });

  it('has spans of attempts that were never sent, in their place', () => {
    const { tracing, spans } = maker();
    const trace = begin(tracing);
    trace.delayed(1);
    trace.cancelled(1, 'client');
    trace.attemptFields([], { id: 2, startedAt: 1020, backend });
    trace.delayed(2);
    trace.cancelled(2, 'deadline');
    const cancelled = { result: 'cancelled', code: 1, sentAt: null } as const;
    trace.ended(
      call({ attempts: [attempt(null, 0, 50, cancelled), attempt('b', 20, 60, { ...cancelled, sentAt: 1025 })] }),
    );
    const [first, second, whole] = spans();
    expect(first?.parentSpanContext?.spanId).toBe(whole?.spanContext().spanId);
    expect(first?.startTime).toEqual(at(1000));
    expect(first?.events.map(({ name, attributes }) => [name, attributes?.['hedgerow.cancelled_by']])).toEqual([
      ['cancelled', 'client'],
    ]);
    expect(second?.events.map(({ name }) => name)).toEqual(['Delayed LB pick complete', 'cancelled']);
    expect(attributesOf(spans(), 'server.port')).toEqual([undefined, 50051, undefined]);
  });

  it('goes on from the client’s, and keeps what that says of its id', () => {
    const { tracing, spans } = maker();
    const own = lines([
      ['traceparent', `00-${traceId}-${spanId}-03`],
      ['tracestate', 'a=1,b=2'],
    ]);
    const trace = begin(tracing, own);
    const fields = [...own];
    trace.attemptFields(fields, { id: 1, startedAt: 1000, backend });
    trace.throttled(1010);
    trace.ended(call());
    const [first, whole] = spans();
    expect(whole?.parentSpanContext).toMatchObject({ traceId, spanId, isRemote: true });
    expect(whole?.spanContext().traceState?.serialize()).toBe('a=1,b=2');
    expect(whole?.events.map(({ name }) => name)).toEqual(['throttled']);
    expect(pairs(fields)).toEqual([
      ['traceparent', `00-${traceId}-${first?.spanContext().spanId}-03`],
      ['tracestate', 'a=1,b=2'],
    ]);
  });
});

describe('a call that is not sampled', () => {
  const unsampled = lines([['traceparent', `00-${traceId}-${spanId}-00`]]);
  const sampled = lines([['traceparent', `00-${traceId}-${spanId}-01`]]);

  it('TRC-20: has no trace where the client’s context is passed on as it came', () => {
    expect(maker().tracing.begin({ path, fields: unsampled }, 0)).toBeNull();
    expect(maker(new AlwaysOffSampler()).tracing.begin({ path, fields: sampled }, 0)).toBeNull();
  });

  it('is told to backends where there is none to pass on', () => {
    const { tracing, spans } = maker(new AlwaysOffSampler());
    const trace = begin(tracing, lines([['grpc-trace-bin', 'nonsense']]));
    expect(trace.recorded).toBe(false);
    const one = [...lines([['traceparent', 'nonsense']])];
    const two: MetadataField[] = [];
    trace.attemptFields(one, { id: 1, startedAt: 0, backend });
    trace.attemptFields(two, { id: 2, startedAt: 0, backend });
    expect(pairs(one)).toEqual(pairs(two));
    expect(pairs(one)).toEqual([['grpc-trace-bin', expect.any(String)]]);
    const [, value = ''] = pairs(one)[0] ?? [];
    expect(Buffer.from(value, 'base64').at(-1)).toBe(TraceFlags.NONE);
    trace.ended(call());
    expect(spans()).toEqual([]);
  });

  it('is recorded all the same where the sampler takes every call', () => {
    const { tracing, spans } = maker(new AlwaysOnSampler());
    begin(tracing, unsampled).ended(call());
    expect(spans().map(({ parentSpanContext }) => parentSpanContext?.traceId)).toEqual([traceId, traceId]);
  });
});
