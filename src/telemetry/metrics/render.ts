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
import { Histogram } from './histogram.js';
import type { Point, Scene } from './scene.js';

/** No timestamps are printed: whoever scrapes has its own. */
const noTime: HrTime = [0, 0];

// No prefix, no timestamps, no labels of a resource, no target_info, no scope: one process is one target.
const serializer = new PrometheusSerializer('', false, undefined, true, true);

/** Prometheus text, by OpenTelemetry's serializer (ADR 7). */
export function renderScene(scene: Scene): string {
  const metrics: MetricData[] = [];
  scene.each((definition, points) => metrics.push(toMetricData(definition, points)));
  return serializer.serialize({
    resource: emptyResource(),
    scopeMetrics: [{ scope: { name: 'hedgerow' }, metrics }],
  });
}

function toMetricData({ name, type, unit, help }: MetricDefinition, points: readonly Point[]): MetricData {
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
    value instanceof Histogram ? [] : [{ startTime: noTime, endTime: noTime, attributes: labels, value }],
  );
}

function histograms(points: readonly Point[]): HistogramMetricData['dataPoints'] {
  return points.flatMap(({ labels, value }) => {
    if (!(value instanceof Histogram)) return [];
    const { bounds, counts, sum, count } = value;
    const buckets = { boundaries: [...bounds], counts: [...counts] };
    return [{ startTime: noTime, endTime: noTime, attributes: labels, value: { buckets, sum, count } }];
  });
}
