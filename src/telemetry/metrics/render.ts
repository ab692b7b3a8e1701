import { type HrTime, ValueType } from '@opentelemetry/api';
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { emptyResource } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  type DataPoint,
  DataPointType,
  type HistogramMetricData,
  type MetricData,
} from '@opentelemetry/sdk-metrics';
import type { MetricDefinition } from './definition.js';
import type { Point, Scene } from './scene.js';

/** No timestamps are printed: whoever scrapes has its own. */
const noTime: HrTime = [0, 0];

// No prefix, no timestamps, no labels of a resource, no target_info, no scope: one process is one target.
const serializer = new PrometheusSerializer('', false, undefined, true, true);

/** The most lines of text that are made at one go: the serializer takes some 10 µs for each. */
export const mostLines = 250;

/**
 * Prometheus text, by OpenTelemetry's serializer (ADR 7), piece by piece: each is made when it is asked for and has some 250
 * lines at most. Joined they are the text that the serializer makes of all at once.
 */
export function* renderScene(scene: Scene, limit = mostLines): Generator<string, void> {
  let piece = '';
  let lines = 0;
  for (const [definition, points] of scene.metrics()) {
    let from = 0;
    let headed = false;
    do {
      let to = from;
      for (let point = points[to]; point !== undefined; point = points[to]) {
        const more = linesOf(point);
        if (lines > 0 && lines + more > limit) break;
        lines += more;
        to += 1;
      }
      const text = serialize([toMetricData(definition, points.slice(from, to))]);
      // The HELP, UNIT and TYPE lines of a metric stand once, before its first point.
      piece += headed ? withoutHeader(text) : text;
      if (!headed) lines += headerLines;
      headed = true;
      from = to;
      if (from < points.length || lines >= limit) {
        yield piece;
        piece = '';
        lines = 0;
      }
    } while (from < points.length);
  }
  if (piece !== '') yield piece;
}

function serialize(metrics: MetricData[]): string {
  return serializer.serialize({ resource: emptyResource(), scopeMetrics: [{ scope: { name: 'hedgerow' }, metrics }] });
}

/** HELP, UNIT and TYPE. */
const headerLines = 3;

/** A histogram has a line for each bucket, its sum and its count. */
function linesOf({ value }: Point): number {
  return typeof value === 'number' ? 1 : value.counts.length + 2;
}

function withoutHeader(text: string): string {
  let at = 0;
  while (text.startsWith('# ', at)) at = text.indexOf('\n', at) + 1;
  return text.slice(at);
}

/** Some points of one metric as OpenTelemetry's SDK has them. */
export function toMetricData({ name, type, unit, help }: MetricDefinition, points: readonly Point[]): MetricData {
  const base = {
    descriptor: { name, description: help, unit, valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  switch (type) {
    case 'counter':
      return { ...base, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints: numbers(points) };
    case 'gauge':
      return { ...base, dataPointType: DataPointType.GAUGE, dataPoints: numbers(points) };
    case 'histogram':
      return { ...base, dataPointType: DataPointType.HISTOGRAM, dataPoints: histograms(points) };
    default:
      return type satisfies never;
  }
}

function numbers(points: readonly Point[]): DataPoint<number>[] {
  return points.flatMap(({ labels, value }) =>
    typeof value === 'number' ? [{ startTime: noTime, endTime: noTime, attributes: labels, value }] : [],
  );
}

function histograms(points: readonly Point[]): HistogramMetricData['dataPoints'] {
  return points.flatMap(({ labels, value }) => {
    if (typeof value === 'number') return [];
    const { bounds, counts, sum, count } = value;
    const buckets = { boundaries: [...bounds], counts: [...counts] };
    return [{ startTime: noTime, endTime: noTime, attributes: labels, value: { buckets, sum, count } }];
  });
}
