import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Status } from '../../../../src/grpc/status.js';
import { type StopReason, stopReasons } from '../../../../src/grpc/stop-reason.js';
import { grpcTarget } from '../../../../src/telemetry/metrics/labels.js';
import { methodLabel } from '../../../../src/telemetry/metrics/method-label.js';
import { answer, attemptOf, callOf, createMeters, idle, play, printed, samples } from './rig.js';

const methodsOf = (text: string): string[] =>
  Object.keys(samples(text, 'hedgerow_call_duration_seconds_count')).map((labels) => labels.slice(8, -1));

test('a method that only clients name is other (D23)', () => {
  const meters = createMeters();
  play(meters, { attempts: [attemptOf({ end: answer(Status.UNIMPLEMENTED) })] }, Status.UNIMPLEMENTED, 'no_policy');
  play(meters, { attempts: [attemptOf({ end: null })] }, 1, 'client_cancelled');
  play(meters, { attempts: [attemptOf({ end: answer(14, { by: 'loss', sign: { kind: 'lost' } }) })] }, 14, 'no_policy');
  // An HTTP error of something in between, which knows no methods.
  play(meters, { attempts: [attemptOf({ end: answer(14, { sign: { kind: 'unstated' } }) })] }, 14, 'no_policy');
  play(meters, { attempts: [] }, 14, 'overloaded');
  expect(methodsOf(printed(meters))).toEqual(['other']);
});

test('a method that a backend has answered for counts by its name from that very call on', () => {
  const meters = createMeters();
  play(meters, { attempts: [attemptOf({ end: answer(Status.NOT_FOUND) })] }, Status.NOT_FOUND, 'no_policy');
  const text = printed(meters);
  expect(methodsOf(text)).toEqual(['pkg.S/M']);
  expect(samples(text, 'grpc_client_attempt_started_total')).toEqual({
    [`grpc_method="pkg.S/M",grpc_target="${grpcTarget}"`]: 1,
  });
  const again = meters.method('/pkg.S/M', false);
  meters.attemptStarted(again);
  expect(Object.values(samples(printed(meters), 'grpc_client_attempt_started_total'))).toEqual([2]);
});

test('a method that the config names counts by its name whatever comes of it', () => {
  const meters = createMeters();
  play(meters, { named: true, attempts: [] }, 14, 'overloaded');
  expect(methodsOf(printed(meters))).toEqual(['pkg.S/M']);
});

test('five hundred methods count by name, further ones as other, also those in the config', () => {
  const meters = createMeters();
  for (let i = 0; i < 600; i += 1) play(meters, { path: `/pkg.S/M${i}` });
  play(meters, { path: '/pkg.S/Named', named: true });
  const methods = methodsOf(printed(meters));
  expect(methods).toHaveLength(501);
  expect(methods).toContain('pkg.S/M499');
  expect(methods).not.toContain('pkg.S/M500');
  expect(methods).not.toContain('pkg.S/Named');
});

test.each([
  ['/pkg.S/M', 'pkg.S/M'],
  ['/a/b/M', 'a/b/M'],
  ['/S/', null],
  ['/', null],
  ['', null],
  ['S/M', null],
  ['/S/M"x', null],
  ['/S/M\\', null],
  ['/S/M\n', null],
  ['/S/ü', null],
  ['/S/M?x=1', null],
  [`/S/${'x'.repeat(197)}`, `S/${'x'.repeat(197)}`],
  [`/S/${'x'.repeat(198)}`, null],
])('the path %j makes the label %j', (path, label) => {
  expect(methodLabel(path)).toBe(label);
});

test('calls that were refused before they began are of no method', () => {
  const meters = createMeters();
  meters.callRefused(Status.INVALID_ARGUMENT, 'invalid_directive');
  expect(samples(printed(meters), 'hedgerow_calls_total')).toEqual({
    'method="other",code="INVALID_ARGUMENT",stop_reason="invalid_directive"': 1,
  });
});

test('a backend past the most that are counted by name shares its numbers, and one that left makes room', () => {
  const meters = createMeters();
  const changed = (name: string): void =>
    meters.backendChanged({
      id: attemptOf().backend?.id ?? fail(),
      name,
      address: '',
      event: 'connected',
      generation: 1,
      detail: '',
      retryIn: null,
    });
  for (let i = 0; i < 501; i += 1) changed(`b${i}`);
  const there = { name: 'b7', state: 'ready', inFlight: 1, queued: 0, connections: 1 } as const;
  const text = printed(meters, { ...idle, backends: [there] });
  const events = samples(text, 'hedgerow_backend_connection_events_total');
  expect(events).toEqual({ 'backend="b7",event="connected"': 1, 'backend="_other",event="connected"': 1 });
  changed('b501');
  expect(
    samples(printed(meters, { ...idle, backends: [there] }), 'hedgerow_backend_connection_events_total'),
  ).toMatchObject({
    'backend="b501",event="connected"': 1,
  });
});

function fail(): never {
  throw new Error('the rig has a backend');
}

const codes = fc.oneof(fc.integer({ min: 0, max: 20 }), fc.nat());
const reasons = fc.constantFrom<StopReason[]>(...stopReasons);

test('whatever clients send, the labels stay in their sets, and every line can be read', () => {
  const known = new Set(['other', 'pkg.S/M']);
  fc.assert(
    fc.property(
      fc.array(
        fc.record({ path: fc.oneof(fc.string(), fc.string({ unit: 'binary' })), code: codes, reason: reasons }),
        {
          maxLength: 30,
        },
      ),
      (calls) => {
        const meters = createMeters();
        meters.method('/pkg.S/M', true);
        for (const { path, code, reason } of calls) {
          // No backend knows the method.
          const attempts = [attemptOf({ end: answer(Status.UNIMPLEMENTED) })];
          play(meters, { path, attempts }, code, reason);
          const call = callOf({ request: { path }, attempts: [] });
          meters.callEnded(call, code, reason, 1);
          meters.callRefused(code, reason);
        }
        const text = printed(meters);
        for (const line of text.split('\n')) {
          if (line === '' || line.startsWith('# ')) continue;
          expect(line).toMatch(/^[a-z_]+(\{([a-z_]+="[\w.:+/-]*",?)+\})? [\d.e+-]+$/);
          const method = /(?:grpc_)?method="([^"]*)"/.exec(line)?.[1];
          if (method !== undefined) expect(known).toContain(method);
        }
      },
    ),
    { numRuns: 200 },
  );
});
