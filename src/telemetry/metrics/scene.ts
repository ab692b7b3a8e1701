import { catalogue, type LabelsOf, type MetricName } from './catalogue.js';
import type { MetricDefinition } from './definition.js';
import type { Histogram } from './histogram.js';

/** One value of a metric. */
export interface Point {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number | Reading;
}

/** A histogram as it was when it was read. */
export type Reading = Pick<Histogram, 'bounds' | 'counts' | 'sum' | 'count'>;

/** All values that were read, by metric, in the catalogue's order; those without a value too. */
export class Scene {
  private readonly points = new Map<MetricName, Point[]>(catalogue.map(({ name }) => [name, []]));

  add<Name extends MetricName>(name: Name, labels: LabelsOf<Name>, value: number | Histogram): void {
    this.points.get(name)?.push({ labels, value: typeof value === 'number' ? value : read(value) });
  }

  *metrics(): Generator<readonly [MetricDefinition, readonly Point[]], void> {
    for (const definition of catalogue) yield [definition, this.points.get(definition.name) ?? []];
  }
}

/** Its counts go on while it is printed. */
function read({ bounds, counts, sum, count }: Histogram): Reading {
  return { bounds, counts: counts.slice(), sum, count };
}
