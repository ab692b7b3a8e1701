import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { emptyResource } from '@opentelemetry/resources';
import type { MetricData } from '@opentelemetry/sdk-metrics';
import { expect, test } from 'vitest';
import { describe } from '../../../../src/telemetry/metrics/describe.js';
import type { ProgramMeters } from '../../../../src/telemetry/metrics/meters.js';
import { mostLines, renderScene, toMetricData } from '../../../../src/telemetry/metrics/render.js';
import type { Scene } from '../../../../src/telemetry/metrics/scene.js';
import { answer, attemptOf, createMeters, idle, play, printed, samples } from './rig.js';

function busy(methods: number): ProgramMeters {
  const meters = createMeters();
  for (let at = 0; at < methods; at += 1) {
    const path = `/pkg.Service/Method${at}`;
    play(meters, { path, named: true });
    play(meters, { path, attempts: [attemptOf({ end: answer(14) }), attemptOf({ cause: 'retry', previous: 1 })] });
  }
  for (let at = 0; at < 30; at += 1)
    meters.backendChanged({ name: `b${at}`, event: 'connected' } as Parameters<ProgramMeters['backendChanged']>[0]);
  return meters;
}

function sceneOf(meters: ProgramMeters): Scene {
  const reading = describe(meters, idle);
  let step = reading.next();
  while (step.done !== true) step = reading.next();
  return step.value;
}

test('the pieces joined are, byte for byte, what the serializer makes of everything at once', () => {
  const meters = busy(100);
  const metrics: MetricData[] = [];
  for (const [definition, points] of sceneOf(meters).metrics()) metrics.push(toMetricData(definition, points));
  const whole = new PrometheusSerializer('', false, undefined, true, true).serialize({
    resource: emptyResource(),
    scopeMetrics: [{ scope: { name: 'hedgerow' }, metrics }],
  });
  expect(whole.length).toBeGreaterThan(1_000_000);
  expect(printed(meters) === whole).toBe(true);
  for (const limit of [1, 7, 60, 100_000])
    expect([...renderScene(sceneOf(meters), limit)].join('') === whole).toBe(true);
});

test('no piece is longer than some 250 lines, however many methods there are', () => {
  const pieces = [...busy(500).render(idle)].map((text) => text.split('\n').length);
  expect(pieces.reduce((sum, lines) => sum + lines)).toBeGreaterThan(100_000);
  // The last metric's header may go over it, and what follows the last line feed is counted here.
  expect(Math.max(...pieces)).toBeLessThanOrEqual(mostLines + 3 + 1);
  // None is so short that a scrape takes many more turns than it need.
  expect(pieces.filter((lines) => lines > 1).length).toBeLessThan(1000);
});

test('methods are read twenty at a time, before anything is printed', () => {
  const [few, many] = [20, 500].map((methods) => {
    let turns = 0;
    for (const piece of busy(methods).render(idle)) {
      if (piece !== '') break;
      turns += 1;
    }
    return turns;
  });
  expect([few, many]).toEqual([2, 26]);
});

test('what is counted while the text is made is in the next one', () => {
  const meters = busy(40);
  const pieces: string[] = [];
  for (const piece of meters.render(idle)) {
    if (piece !== '') play(meters, { path: '/pkg.Service/Method39' });
    pieces.push(piece);
  }
  const text = pieces.join('');
  const of = (name: string): number | undefined =>
    Object.entries(samples(text, name)).find(([labels]) => labels.includes('Method39"') && labels.includes('OK'))?.[1];
  expect(of('grpc_client_attempt_duration_seconds_count')).toBe(2);
  expect(of('grpc_client_attempt_rcvd_total_compressed_message_size_bytes_count')).toBe(2);
  expect(of('grpc_client_call_duration_seconds_count')).toBe(2);
  expect(of('hedgerow_calls_total')).toBe(2);
});

test('only statuses that were observed have lines', () => {
  const statuses = new Set([...printed(busy(3)).matchAll(/grpc_status="(\w+)"/g)].map(([, code]) => code));
  expect(statuses).toEqual(new Set(['OK', 'UNAVAILABLE']));
});
