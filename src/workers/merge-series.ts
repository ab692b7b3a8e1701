/*
 * Prometheus text as it is told by one process, and the series of several. The text is our own (ADR 7): no timestamps, one
 * space before the value, labels always in the same order, so that two lines are of one series where what stands before the
 * value is the same.
 */

export type MetricKind = 'counter' | 'gauge' | 'histogram' | 'untyped';

/** One metric: the lines that head it and its series, both in the order in which they were first seen. */
export interface Metric {
  readonly name: string;
  kind: MetricKind;
  /** The HELP, UNIT and TYPE lines, by that word. */
  readonly head: Map<string, string>;
  readonly places: number[];
}

/** Which series there are. Each has a place, from 0 on, which it keeps. */
export class SeriesIndex {
  readonly metrics: Metric[] = [];
  private readonly byName = new Map<string, Metric>();
  private readonly keys: string[] = [];
  private readonly places = new Map<string, number>();

  get size(): number {
    return this.keys.length;
  }

  /** Name and labels of a series, as the text has them. Empty for a place that there is not. */
  keyAt(place: number): string {
    return this.keys[place] ?? '';
  }

  placeOf(key: string): number | undefined {
    return this.places.get(key);
  }

  /** Made when first asked for. */
  metric(name: string): Metric {
    const known = this.byName.get(name);
    if (known !== undefined) return known;
    const made: Metric = { name: flat(name), kind: 'untyped', head: new Map(), places: [] };
    this.byName.set(made.name, made);
    this.metrics.push(made);
    return made;
  }

  /** The metric of this name, with what is known of one in another index. */
  metricLike({ name, kind, head }: Metric): Metric {
    const metric = this.metric(name);
    if (metric.kind === 'untyped') metric.kind = kind;
    for (const [word, line] of head) if (!metric.head.has(word)) metric.head.set(word, line);
    return metric;
  }

  /** Found, or added to this metric. */
  place(key: string, metric: Metric): number {
    const known = this.places.get(key);
    if (known !== undefined) return known;
    const place = this.keys.length;
    const kept = flat(key);
    this.keys.push(kept);
    this.places.set(kept, place);
    metric.places.push(place);
    return place;
  }
}

/** A copy of its own: what is cut out of a text would otherwise keep all of it in memory. */
function flat(text: string): string {
  return Buffer.from(text).toString();
}

/** A value for each place; NaN: none. */
export class SeriesValues {
  private values: Float64Array;

  constructor(values = new Float64Array(0)) {
    this.values = values;
  }

  at(place: number): number {
    return this.values[place] ?? Number.NaN;
  }

  set(place: number, value: number): void {
    const { values } = this;
    if (place >= values.length) {
      this.values = new Float64Array(Math.max(1024, 2 * (place + 1))).fill(Number.NaN);
      this.values.set(values);
    }
    this.values[place] = value;
  }

  /** @param value NaN: nothing to add */
  add(place: number, value: number): void {
    if (Number.isNaN(value)) return;
    const before = this.at(place);
    this.set(place, Number.isNaN(before) ? value : before + value);
  }

  copy(): SeriesValues {
    return new SeriesValues(this.values.slice());
  }
}

/** What was read of one process, or of several. */
export interface SeriesReading {
  readonly index: SeriesIndex;
  readonly values: SeriesValues;
}

/** Reads the text of one process in pieces, which may break anywhere. A line that is none of ours is left out. */
export class SeriesReader implements SeriesReading {
  readonly index: SeriesIndex;
  readonly values = new SeriesValues();
  private rest = '';
  private metric: Metric | null = null;
  /** Where the line's series is if it follows the one before as it did in another process's text. */
  private expected = 0;

  constructor(index: SeriesIndex) {
    this.index = index;
  }

  take(piece: string): void {
    const text = this.rest === '' ? piece : this.rest + piece;
    let from = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
      this.takeLine(text, from, end);
      from = end + 1;
    }
    this.rest = text.slice(from);
  }

  /** The last line may be without its line feed. */
  end(): void {
    if (this.rest !== '') this.takeLine(this.rest, 0, this.rest.length);
    this.rest = '';
  }

  private takeLine(text: string, from: number, end: number): void {
    if (text.startsWith('# ', from)) {
      this.takeHead(text.slice(from, end));
      return;
    }
    // A label's value may have spaces, a sample's has none.
    const space = text.lastIndexOf(' ', end - 1);
    if (space <= from) return;
    const value = numberOf(text.slice(space + 1, end));
    if (Number.isNaN(value)) return;
    const place = this.placeOf(text, from, space);
    this.expected = place + 1;
    this.values.set(place, value);
  }

  private takeHead(line: string): void {
    const afterWord = line.indexOf(' ', 2);
    if (afterWord === -1) return;
    const word = line.slice(2, afterWord);
    if (word !== 'HELP' && word !== 'UNIT' && word !== 'TYPE') return;
    const afterName = line.indexOf(' ', afterWord + 1);
    const metric = this.index.metric(line.slice(afterWord + 1, afterName === -1 ? line.length : afterName));
    this.metric = metric;
    if (metric.head.has(word)) return;
    metric.head.set(word, line);
    if (word === 'TYPE') metric.kind = kindOf(line.slice(afterName + 1));
  }

  private placeOf(text: string, from: number, space: number): number {
    const { index, expected } = this;
    const guess = index.keyAt(expected);
    // Cheaper than a look-up, and right nearly always: processes tell of the same things in the same order.
    if (guess.length === space - from && guess.length > 0 && text.startsWith(guess, from)) return expected;
    const key = text.slice(from, space);
    const known = index.placeOf(key);
    if (known !== undefined) return known;
    const { metric } = this;
    return index.place(key, metric !== null && key.startsWith(metric.name) ? metric : index.metric(nameOf(key)));
  }
}

function nameOf(key: string): string {
  const brace = key.indexOf('{');
  return brace === -1 ? key : key.slice(0, brace);
}

function kindOf(text: string): MetricKind {
  return text === 'counter' || text === 'gauge' || text === 'histogram' ? text : 'untyped';
}

/** NaN for what is no number. */
function numberOf(text: string): number {
  if (text === '') return Number.NaN;
  if (text === '+Inf') return Number.POSITIVE_INFINITY;
  return text === '-Inf' ? Number.NEGATIVE_INFINITY : Number(text);
}
