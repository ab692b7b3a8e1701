import { catalogue, type LabelsOf, type MetricName } from './catalogue.js';
import type { MetricDefinition } from './definition.js';
import type { Histogram } from './histogram.js';

/** One value of a metric. */
export interface Point {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number | Histogram;
}

/** All values at one moment, by metric, in the catalogue's order; those without a value too. */
export class Scene {
  private readonly points = new Map<MetricName, Point[]>(catalogue.map(({ name }) => [name, []]));

  add<Name extends MetricName>(name: Name, labels: LabelsOf<Name>, value: number | Histogram): void {
    this.points.get(name)?.push({ labels, value });
  }

  each(take: (definition: MetricDefinition, points: readonly Point[]) => void): void {
    for (const definition of catalogue) take(definition, this.points.get(definition.name) ?? []);
  }
}
