import { afterEach, describe, expect, it } from 'vitest';
import { formatTraceBin, parseTraceBin, parseTraceparent } from '../../../src/grpc/trace-context.js';
import type { Line } from '../../support/frames.js';
import { type OtlpReceiver, startOtlpReceiver } from '../../support/otlp-receiver.js';
import { hedgeConfig } from '../../support/policies.js';
import { type Program, serve } from '../../support/program.js';
import {
  type Behaviour,
  behave,
  connectRawClient,
  type RawBackend,
  type RawBackendOptions,
  type RawCall,
  type RawCallOptions,
  type RawClient,
  startRawBackend,
} from '../../support/raw-peer.js';
import type { RecordedStream } from '../../support/recorded-stream.js';
import { path, retryConfig } from '../../support/scene.js';

/*
 * Traces of the built program, as a collector gets them by OTLP over HTTP.
 */

const { ok, fail, reset, silent } = behave;
const unavailable = 14;
const refusedStream = 7;
/** SETTINGS_MAX_CONCURRENT_STREAMS. */
const maxConcurrentStreams = 3;
const method = 't.S.M';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const clientSpan = '00f067aa0ba902b7';
const sampled = `00-${traceId}-${clientSpan}-01`;
const unsampled = `00-${traceId}-${clientSpan}-00`;

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

interface Stage {
  readonly program: Program;
  readonly receiver: OtlpReceiver;
  readonly backends: readonly RawBackend[];
  readonly client: RawClient;
  call(options?: RawCallOptions): Promise<RawCall>;
}

interface StageOptions {
  readonly config?: object;
  /** One backend for each. */
  readonly behaviours: readonly (Behaviour | readonly Behaviour[])[];
  readonly env?: Readonly<Record<string, string>>;
  readonly flags?: readonly string[];
  readonly backend?: RawBackendOptions;
  /** Its environment names the receiver [true]. */
  readonly endpoint?: boolean;
}

/** Spans are sent soon, so that nobody waits for long. */
const soon = { OTEL_BSP_SCHEDULE_DELAY: '20' };

async function stage({
  config = {},
  behaviours,
  env = {},
  flags = [],
  backend: options = {},
  endpoint = true,
}: StageOptions): Promise<Stage> {
  const receiver = await startOtlpReceiver();
  open.push(receiver);
  const backends: RawBackend[] = [];
  for (const [index, behaviour] of behaviours.entries()) {
    const backend = await startRawBackend({ ...options, name: `b${index + 1}`, port: 0 });
    if (typeof behaviour === 'function') backend.behave(behaviour);
    else backend.script(behaviour);
    backends.push(backend);
    open.push(backend);
  }
  const program = await serve(
    [
      ...backends.flatMap(({ name, port }) => ['--backend', `${name}=127.0.0.1:${port}`]),
      '--service-config',
      'c.json',
      ...flags,
    ],
    {
      files: { 'c.json': JSON.stringify(config) },
      env: { ...soon, ...(endpoint ? { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url } : {}), ...env },
    },
  );
  for (const { name } of backends)
    await program.line(({ event, backend }) => event === 'connected' && backend === name);
  const client = await connectRawClient(await program.port());
  open.push({ close: async () => client.kill() });
  return {
    program,
    receiver,
    backends,
    client,
    call: (options = {}) => client.call(path, { messages: ['hi'], ...options }).done(),
  };
}

function streamOf(backend: RawBackend | undefined, nth: number): RecordedStream {
  const stream = backend?.streams[nth - 1];
  if (stream === undefined) throw new Error(`there is no stream ${nth}`);
  return stream;
}

/** The trace keys of a request, in order. */
function traceKeys(stream: RecordedStream): Line[] {
  return stream.headers.filter(([name]) => ['traceparent', 'tracestate', 'grpc-trace-bin'].includes(name));
}

describe('spans', () => {
  it('TRC-01: a retried call is a span Sent. with one Attempt. for each attempt, and each request names its own', async () => {
    const { receiver, backends, call } = await stage({
      config: retryConfig(),
      behaviours: [[fail(unavailable, [['grpc-message', 'not today']]), ok('pong')]],
    });
    expect((await call()).status).toBe(0);
    const trace = await receiver.trace(method, 2);
    expect(trace.call).toMatchObject({
      parentId: '',
      kind: 2,
      status: { code: 1, message: '' },
      resource: { 'service.name': 'hedgerow', 'service.version': expect.stringMatching(/^\d/) },
      attributes: {
        'rpc.system.name': 'grpc',
        'rpc.method': 't.S/M',
        'rpc.response.status_code': 'OK',
        'hedgerow.stop_reason': 'ok',
        'hedgerow.retries': 1,
        'hedgerow.commit': 'headers',
        'hedgerow.call_id': expect.stringMatching(/^[0-9a-z]+-1$/),
      },
    });
    const [first, second] = trace.attempts;
    const peer = { 'server.address': '127.0.0.1', 'server.port': backends[0]?.port };
    expect(first).toMatchObject({
      name: `Attempt.${method}`,
      kind: 3,
      status: { code: 2, message: 'UNAVAILABLE: not today' },
      attributes: {
        'previous-rpc-attempts': 0,
        'transparent-retry': false,
        'rpc.response.status_code': 'UNAVAILABLE',
        'error.type': 'UNAVAILABLE',
        'hedgerow.backend': 'b1',
        'hedgerow.cause': 'first',
        ...peer,
      },
    });
    expect(second).toMatchObject({
      status: { code: 1 },
      attributes: { 'previous-rpc-attempts': 1, 'transparent-retry': false, 'hedgerow.cause': 'retry', ...peer },
    });
    for (const [nth, attempt] of trace.attempts.entries())
      expect(traceKeys(streamOf(backends[0], nth + 1))).toEqual([
        ['traceparent', `00-${trace.call.traceId}-${attempt.spanId}-01`],
      ]);
  });

  it('TRC-02: the backoff before a retry and the commit are events, in their place in time', async () => {
    const { receiver, call } = await stage({ config: retryConfig(), behaviours: [[fail(unavailable), ok('pong')]] });
    const before = BigInt(Date.now()) * 1_000_000n;
    await call();
    const { call: span, attempts } = await receiver.trace(method, 2);
    expect(span.events.map(({ name }) => name)).toEqual(['backoff', 'commit']);
    const [backoff, commit] = span.events;
    const [first, second] = attempts;
    if (!backoff || !commit || !first || !second) throw new Error('two events and two attempts');
    expect(backoff.at).toBe(first.end);
    const waited = Number(second.start - first.end) / 1e6;
    expect(waited).toBeGreaterThan(0);
    expect(Math.abs(waited - Number(backoff.attributes['hedgerow.backoff_ms']))).toBeLessThan(0.01);
    expect(commit.attributes).toEqual({ 'hedgerow.commit': 'headers' });
    expect(commit.at >= second.start && commit.at <= second.end).toBe(true);
    // The proxy's clock is monotonic: its times are put into those of the day.
    expect(Math.abs(Number(span.start - before)) / 1e6).toBeLessThan(60_000);
    expect(span.start <= first.start && span.end >= second.end).toBe(true);
  });

  it('TRC-03: pushback is an event of the attempt that was answered with it: its milliseconds, or never', async () => {
    const { receiver, call } = await stage({
      config: retryConfig(),
      behaviours: [
        [fail(unavailable, [['grpc-retry-pushback-ms', '7']]), fail(unavailable, [['grpc-retry-pushback-ms', '-1']])],
      ],
    });
    expect((await call()).status).toBe(unavailable);
    const trace = await receiver.trace(method, 2);
    expect(trace.attempts.map(({ events }) => events)).toMatchObject([
      [{ name: 'pushback', attributes: { 'hedgerow.pushback_ms': 7 } }],
      [{ name: 'pushback', attributes: { 'hedgerow.pushback': 'never' } }],
    ]);
    expect(trace.call).toMatchObject({
      status: { code: 2, message: 'UNAVAILABLE' },
      attributes: {
        'error.type': 'UNAVAILABLE',
        'hedgerow.stop_reason': 'pushback',
        'hedgerow.origin': 'backend',
        'hedgerow.processed': 'unknown',
      },
    });
  });

  it('TRC-04: of hedges the losers end CANCELLED, with an event that a winner superseded them', async () => {
    const { receiver, call } = await stage({
      config: hedgeConfig({ maxAttempts: 2, delay: 10 }),
      behaviours: [[silent, ok('pong')]],
    });
    expect((await call()).status).toBe(0);
    const [loser, winner] = (await receiver.trace(method, 2)).attempts;
    expect(loser).toMatchObject({
      status: { code: 2, message: 'CANCELLED' },
      attributes: { 'hedgerow.result': 'cancelled', 'previous-rpc-attempts': 0 },
      events: [{ name: 'cancelled', attributes: { 'hedgerow.cancelled_by': 'superseded' } }],
    });
    expect(winner).toMatchObject({
      status: { code: 1 },
      events: [],
      attributes: { 'hedgerow.cause': 'hedge', 'hedgerow.trigger': 'delay', 'previous-rpc-attempts': 1 },
    });
  });

  it('TRC-05: a transparent retry says so, and is no previous attempt', async () => {
    const { receiver, call } = await stage({
      config: retryConfig(),
      behaviours: [[reset(refusedStream), fail(unavailable), ok('pong')]],
    });
    expect((await call()).status).toBe(0);
    const { attempts } = await receiver.trace(method, 3);
    expect(
      attempts.map(({ attributes }) => [attributes['transparent-retry'], attributes['previous-rpc-attempts']]),
    ).toEqual([
      [false, 0],
      [true, 0],
      [false, 1],
    ]);
  });

  it('TRC-06: the throttle that stops a retry is an event', async () => {
    const { receiver, call } = await stage({
      config: { ...retryConfig(), retryThrottling: { maxTokens: 1, tokenRatio: 0.1 } },
      behaviours: [[fail(unavailable)]],
    });
    expect((await call()).status).toBe(unavailable);
    const { call: span } = await receiver.trace(method, 1);
    expect(span.attributes['hedgerow.stop_reason']).toBe('throttled');
    expect(span.events.map(({ name }) => name)).toEqual(['throttled']);
  });

  it('TRC-07: a call that finds no backend, or is refused, has a span all the same', async () => {
    const { receiver, client, call } = await stage({ behaviours: [ok('pong')] });
    expect((await call({ headers: [['hedgerow-pin', 'nobody']] })).status).not.toBe(0);
    const pinned = await receiver.trace(method, 0);
    expect(pinned.call).toMatchObject({
      status: { code: 2, message: 'UNAVAILABLE' },
      attributes: { 'hedgerow.stop_reason': 'pin_unknown', 'hedgerow.origin': 'proxy', 'hedgerow.processed': 'no' },
    });
    await client
      .call('/t.S/Bad', {
        headers: [
          ['grpc-timeout', 'soon'],
          ['traceparent', sampled],
        ],
      })
      .done();
    const refused = await receiver.trace('t.S.Bad', 0);
    expect(refused.call).toMatchObject({
      traceId,
      parentId: clientSpan,
      attributes: { 'hedgerow.stop_reason': 'malformed_request' },
    });
  });

  it('TRC-08: an attempt that waits for its place says when it had it', async () => {
    const { receiver, backends, client } = await stage({
      behaviours: [silent],
      backend: { settings: [[maxConcurrentStreams, 1]] },
      flags: ['--backend-connections', '1'],
    });
    const first = client.call('/t.S/First', { messages: ['hi'] });
    const held = await backends[0]?.waitForStream(1);
    const second = client.call('/t.S/Second', { messages: ['hi'] });
    await client.ping();
    await held?.answer(['one']);
    await first.done();
    await (await backends[0]?.waitForStream(2))?.answer(['two']);
    await second.done();
    const atOnce = await receiver.trace('t.S.First', 1);
    expect(atOnce.attempts[0]?.events).toEqual([]);
    const waited = (await receiver.trace('t.S.Second', 1)).attempts[0];
    expect(waited?.events.map(({ name }) => name)).toEqual(['Delayed LB pick complete']);
    const at = waited?.events[0]?.at ?? 0n;
    expect(waited !== undefined && at > waited.start && at < waited.end).toBe(true);
  });
});

describe('context', () => {
  it('TRC-09: a client’s traceparent is continued: its trace, its span the parent, its tracestate passed on', async () => {
    const { receiver, backends, call } = await stage({
      config: retryConfig(),
      behaviours: [[fail(unavailable), ok('pong')]],
    });
    const own: Line[] = [
      ['traceparent', sampled],
      ['tracestate', 'rojo=1'],
      ['tracestate', 'congo=2'],
      ['baggage', 'k=v'],
    ];
    await call({ headers: own, neverIndexed: ['traceparent'] });
    const trace = await receiver.trace(method, 2);
    expect(trace.call).toMatchObject({ traceId, parentId: clientSpan, state: 'rojo=1,congo=2' });
    for (const [nth, attempt] of trace.attempts.entries()) {
      expect(attempt).toMatchObject({ traceId, state: 'rojo=1,congo=2' });
      const stream = streamOf(backends[0], nth + 1);
      expect(traceKeys(stream)).toEqual([
        ['traceparent', `00-${traceId}-${attempt.spanId}-01`],
        ['tracestate', 'rojo=1,congo=2'],
      ]);
      expect(stream.header('baggage')).toBe('k=v');
      expect(stream.neverIndexed).toEqual(['traceparent', 'tracestate']);
    }
  });

  it('TRC-10: grpc-trace-bin is continued, and backends get the forms that the client used', async () => {
    const { receiver, backends, call } = await stage({ behaviours: [ok('pong')] });
    await call({ headers: [['grpc-trace-bin', formatTraceBin({ traceId, spanId: clientSpan, flags: 1 })]] });
    const trace = await receiver.trace(method, 1);
    expect(trace.call).toMatchObject({ traceId, parentId: clientSpan });
    const spanId = trace.attempts[0]?.spanId ?? '';
    expect(traceKeys(streamOf(backends[0], 1))).toEqual([
      ['grpc-trace-bin', formatTraceBin({ traceId, spanId, flags: 1 })],
    ]);
    const other = { traceId: 'f'.repeat(32), spanId: 'e'.repeat(16), flags: 1 };
    receiver.spans.length = 0;
    await call({
      headers: [
        ['grpc-trace-bin', formatTraceBin(other)],
        ['traceparent', sampled],
      ],
    });
    const both = await receiver.trace(method, 1);
    expect(both.call).toMatchObject({ traceId, parentId: clientSpan });
    const [first, second] = traceKeys(streamOf(backends[0], 2));
    expect([first?.[0], second?.[0]]).toEqual(['traceparent', 'grpc-trace-bin']);
    const context = { traceId, spanId: both.attempts[0]?.spanId, flags: 1 };
    expect(parseTraceparent(first?.[1] ?? '')).toEqual(context);
    expect(parseTraceBin(second?.[1] ?? '')).toEqual(context);
  });

  it.each([
    ['malformed', [['traceparent', sampled.toUpperCase()]]],
    [
      'there twice',
      [
        ['traceparent', sampled],
        ['traceparent', sampled],
      ],
    ],
  ] satisfies [string, Line[]][])(
    'TRC-11: a trace key that is %s counts as none, and is replaced',
    async (_, lines) => {
      const { receiver, backends, call } = await stage({ behaviours: [ok('pong')] });
      await call({ headers: [...lines, ['tracestate', 'a=1']] });
      const trace = await receiver.trace(method, 1);
      expect(trace.call.parentId).toBe('');
      expect(trace.call.traceId).not.toBe(traceId);
      expect(traceKeys(streamOf(backends[0], 1))).toEqual([
        ['traceparent', `00-${trace.call.traceId}-${trace.attempts[0]?.spanId}-01`],
      ]);
    },
  );

  it('TRC-12: a client that does not sample: no spans, and its keys pass as they came', async () => {
    const { receiver, backends, call } = await stage({ behaviours: [ok('pong')] });
    const own: Line[] = [
      ['tracestate', 'a=1, b=2'],
      ['traceparent', unsampled],
      ['grpc-trace-bin', 'nonsense'],
    ];
    await call({ headers: own });
    expect(traceKeys(streamOf(backends[0], 1))).toEqual(own);
    // What comes after it is there, and it is not.
    await call({ headers: [['traceparent', sampled]] });
    await receiver.trace(method, 1);
    expect(receiver.spans).toHaveLength(2);
  });

  it('TRC-13: a trace that would begin here and is not sampled: no spans, and backends are told so', async () => {
    const { program, receiver, backends, call } = await stage({
      behaviours: [ok('pong')],
      env: { OTEL_TRACES_SAMPLER: 'parentbased_always_off' },
    });
    await call();
    const [key, ...more] = traceKeys(streamOf(backends[0], 1));
    expect(more).toEqual([]);
    expect(key).toEqual(['traceparent', expect.stringMatching(/^00-[0-9a-f]{32}-[0-9a-f]{16}-00$/)]);
    await call({ headers: [['traceparent', sampled]] });
    await receiver.trace(method, 1);
    program.signal('SIGTERM');
    await program.exited();
    expect(receiver.spans).toHaveLength(2);
  });
});

describe('the switch', () => {
  const own: Line[] = [
    ['traceparent', sampled],
    ['tracestate', 'a=1,,'],
    ['grpc-trace-bin', 'nonsense'],
    ['traceparent', 'twice'],
  ];

  it.each([
    ['nothing in the environment', {}],
    ['OTEL_SDK_DISABLED', { OTEL_SDK_DISABLED: 'true' }],
    ['OTEL_TRACES_EXPORTER=none', { OTEL_TRACES_EXPORTER: 'none' }],
  ])('TRC-14: traces are off with %s, and trace keys pass byte for byte', async (name, env) => {
    const { program, receiver, backends, call } = await stage({
      behaviours: [ok('pong')],
      env,
      endpoint: name !== 'nothing in the environment',
    });
    await call({ headers: own });
    expect(traceKeys(streamOf(backends[0], 1))).toEqual(own);
    program.signal('SIGTERM');
    expect(await program.exited()).toBe(0);
    expect(receiver.requests).toEqual([]);
    expect(program.lines.filter(({ event }) => event === 'traces')).toEqual([]);
  });

  it.each([
    [
      { OTEL_TRACES_EXPORTER: 'zipkin' },
      'OTEL_TRACES_EXPORTER is "zipkin": otlp and none are known, there are no traces',
    ],
    [
      { OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
      'OTEL_EXPORTER_OTLP_PROTOCOL is "grpc": traces are sent as http/protobuf alone, so there are none',
    ],
  ])('TRC-15: %o: one warning, no traces', async (env, warning) => {
    const { program, backends, call } = await stage({ behaviours: [ok('pong')], env });
    expect(program.lines.filter(({ level }) => level === 40).map(({ msg }) => msg)).toEqual([warning]);
    await call();
    expect(traceKeys(streamOf(backends[0], 1))).toEqual([]);
  });

  it('TRC-16: resource, headers and compression are those of OpenTelemetry’s variables', async () => {
    const { receiver, call } = await stage({
      behaviours: [ok('pong')],
      env: {
        OTEL_TRACES_EXPORTER: 'otlp',
        OTEL_SERVICE_NAME: 'edge',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test,service.name=other',
        OTEL_EXPORTER_OTLP_HEADERS: 'x-key=secret',
        OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
      },
    });
    await call();
    const trace = await receiver.trace(method, 1);
    expect(trace.call.resource).toMatchObject({ 'service.name': 'edge', 'deployment.environment.name': 'test' });
    expect(receiver.requests[0]).toMatchObject({
      'x-key': 'secret',
      'content-encoding': 'gzip',
      'content-type': 'application/x-protobuf',
    });
  });
});

describe('the collector', () => {
  it('TRC-17: that is down, or refuses, touches no call; one line a minute says so', async () => {
    const { program, receiver, call } = await stage({ behaviours: [ok('pong')] });
    receiver.status = 400;
    for (let calls = 0; calls < 3; calls += 1) {
      expect((await call()).status).toBe(0);
      const sent = receiver.requests.length;
      await receiver.until('another export', () => receiver.requests.length > sent || undefined);
    }
    await program.line(({ event, level }) => event === 'traces' && level === 40);
    await receiver.close();
    expect((await call()).status).toBe(0);
    program.signal('SIGTERM');
    expect(await program.exited()).toBe(0);
    const told = program.lines.filter(({ event, level }) => event === 'traces' && level === 40);
    expect(told[0]).toMatchObject({
      spans_lost: 2,
      msg: 'traces could not be sent: HTTP 400 Bad Request',
    });
    // What came within the minute is told at the end: of the three that were refused for sure, of the last where it is known by then.
    const lines = told.filter(({ msg }) => String(msg).startsWith('traces could not'));
    expect(lines.map(({ msg }) => msg).slice(1)).toEqual(['traces could not all be sent']);
    expect([6, 8]).toContain(lines.reduce((sum, line) => sum + Number(line['spans_lost']), 0));
    expect(program.err).toBe('');
  });

  it('TRC-18: gets what waits at the end of a drain', async () => {
    const { program, receiver, call } = await stage({
      behaviours: [ok('pong')],
      env: { OTEL_BSP_SCHEDULE_DELAY: '600000' },
    });
    await call();
    expect(receiver.spans).toEqual([]);
    program.signal('SIGTERM');
    await receiver.trace(method, 1);
    expect(await program.exited()).toBe(0);
  });

  it('TRC-19: that does not answer holds the end of a drain up for 3 s, no longer', async () => {
    const { program, receiver, call } = await stage({
      behaviours: [ok('pong')],
      env: { OTEL_BSP_SCHEDULE_DELAY: '600000' },
    });
    receiver.answers = false;
    await call();
    program.signal('SIGTERM');
    const [drained, late] = [
      await program.line('drained'),
      await program.line('traces: not all could be sent within 3000 ms'),
    ];
    expect(Number(late['time']) - Number(drained['time'])).toBeGreaterThan(2900);
    expect(await program.exited()).toBe(0);
  });
});
