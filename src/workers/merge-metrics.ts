import { gaugeMerges } from './merge-gauges.js';
import { type Metric, SeriesIndex, SeriesReader, type SeriesReading, SeriesValues } from './merge-series.js';

/** The most lines of text that are made at one go. */
const mostLines = 250;

/** Series that are taken over from another reading at one go. */
const adoptedAtOnce = 1000;

/**
 * Series whose totals are kept of workers that are gone. Names of registered backends come and go for ever; a series past this
 * falls with its worker, as it would over a restart.
 */
const mostRetired = 200_000;

/** What one worker told when it last told all. */
interface LastTold {
  reading: SeriesReading | null;
}

/**
 * Counters and histograms of workers that are gone, so that no total falls when one dies. Of a worker is kept what it told
 * last: what it counted after the last scrape goes with it, and was never shown.
 */
export class RetiredMetrics {
  private readonly index = new SeriesIndex();
  private gone: readonly [sum: SeriesReading, ...latest: SeriesReading[]] = [
    { index: this.index, values: new SeriesValues() },
  ];
  private readonly living = new Map<number, LastTold>();

  /** Of those that are gone, to be added up; what was taken from here before does not change. */
  get totals(): readonly SeriesReading[] {
    return this.gone;
  }

  /** What a worker told last, to be read and changed by scrapes, after its end too: then it counts here no more. */
  lastOf(worker: number): LastTold {
    const known = this.living.get(worker);
    if (known !== undefined) return known;
    const made = { reading: null };
    this.living.set(worker, made);
    return made;
  }

  /** A worker is gone for good, and all that it told has been taken; none has its number again. */
  retire(worker: number): void {
    const reading = this.living.get(worker)?.reading ?? null;
    this.living.delete(worker);
    if (reading !== null) this.gone = [...this.gone, reading];
  }

  /** Makes one of all that are gone, with a yield wherever it may give way; the next scrape does it. */
  *fold(): Generator<string, void> {
    for (let [sum, next] = this.gone; next !== undefined; [sum, next] = this.gone) {
      const values = sum.values.copy();
      yield* addReading(next, this.index, values, mostRetired);
      // Another scrape may have done the same meanwhile.
      const [first, ...latest] = this.gone;
      if (first === sum) this.gone = [{ index: this.index, values }, ...latest.slice(1)];
    }
  }
}

/**
 * Adds a reading's counters and histograms to values of another index, with a yield wherever it may give way.
 *
 * @param most series that the index may come to have
 */
function* addReading(
  { index: theirs, values }: SeriesReading,
  index: SeriesIndex,
  sums: SeriesValues,
  most: number,
): Generator<string, void> {
  let seen = 0;
  for (const metric of theirs.metrics) {
    if (metric.kind === 'gauge') continue;
    const ours = index.metricLike(metric);
    // Their index may grow meanwhile: what is new there has no value in this reading.
    for (const place of metric.places) {
      seen += 1;
      if (seen % adoptedAtOnce === 0) yield '';
      const value = values.at(place);
      if (Number.isNaN(value)) continue;
      const key = theirs.keyAt(place);
      if (index.size < most || index.placeOf(key) !== undefined) sums.add(index.place(key, ours), value);
    }
  }
}

/**
 * One scrape over several processes: takes what each tells on `/metrics` and makes one text of it. Counters and histograms are
 * added up, gauges merged as `gaugeMerges` says. Of a process that does not come to its end, because it died or does not answer,
 * the counters and histograms count that it told last.
 */
export class MetricsSum {
  private readonly retired: RetiredMetrics;
  private readonly gone: readonly SeriesReading[];
  private readonly index = new SeriesIndex();
  private readonly asked: ReadonlyMap<number, { readonly reader: SeriesReader; readonly last: LastTold }>;
  private readonly ended = new Map<number, SeriesValues>();

  /**
   * @param retired those of the run
   * @param workers the numbers of the processes that are asked; the primary may be one of them, as 0
   */
  constructor(retired: RetiredMetrics, workers: readonly number[]) {
    this.retired = retired;
    // As they are now: who dies from here on is among those that were asked, and is not to be counted twice.
    this.gone = retired.totals;
    this.asked = new Map(
      workers.map((worker) => [worker, { reader: new SeriesReader(this.index), last: retired.lastOf(worker) }]),
    );
  }

  /** A piece of a process's text; it may break anywhere. Nothing for a process that was not asked, or has ended. */
  take(worker: number, piece: string): void {
    if (!this.ended.has(worker)) this.asked.get(worker)?.reader.take(piece);
  }

  /** A process has told all of its text. */
  end(worker: number): void {
    const asked = this.asked.get(worker);
    if (asked === undefined) return;
    asked.reader.end();
    asked.last.reading = asked.reader;
    this.ended.set(worker, asked.reader.values);
  }

  /**
   * The text, once all have ended or are waited for no more, in pieces: some are empty, none costs more than some milliseconds.
   *
   * @param limit lines of a piece
   */
  *text(limit = mostLines): Generator<string, void> {
    yield* this.retired.fold();
    const past = new SeriesValues();
    for (const reading of this.pasts()) yield* addReading(reading, this.index, past, Number.POSITIVE_INFINITY);
    let piece = '';
    let lines = 0;
    for (const line of this.lines(past)) {
      piece += line;
      lines += 1;
      if (lines < limit) continue;
      yield piece;
      piece = '';
      lines = 0;
    }
    if (piece !== '') yield piece;
  }

  private *lines(past: SeriesValues): Generator<string, void> {
    const { index } = this;
    const told = [...this.ended.values()];
    const all = [...told, past];
    for (const metric of index.metrics) {
      for (const line of metric.head.values()) yield `${line}\n`;
      for (const place of metric.places) {
        const value = metric.kind === 'gauge' ? mergeGauge(metric, place, told) : sumOf(place, all);
        if (!Number.isNaN(value)) yield `${index.keyAt(place)} ${print(value)}\n`;
      }
    }
  }

  /** What is told of those that tell nothing now. */
  private pasts(): SeriesReading[] {
    const pasts = [...this.gone];
    for (const [worker, { last }] of this.asked)
      if (!this.ended.has(worker) && last.reading !== null) pasts.push(last.reading);
    return pasts;
  }
}

function sumOf(place: number, all: readonly SeriesValues[]): number {
  let sum = Number.NaN;
  for (const values of all) {
    const value = values.at(place);
    if (!Number.isNaN(value)) sum = Number.isNaN(sum) ? value : sum + value;
  }
  return sum;
}

/** NaN where nobody tells it. */
function mergeGauge({ name }: Metric, place: number, told: readonly SeriesValues[]): number {
  const merge = gaugeMerges[name] ?? 'sum';
  if (merge === 'sum') return sumOf(place, told);
  let found = Number.NaN;
  for (const values of told) {
    const value = values.at(place);
    if (Number.isNaN(value)) continue;
    if (Number.isNaN(found)) found = value;
    else found = merge === 'max' ? Math.max(found, value) : Math.min(found, value);
  }
  return found;
}

/** As OpenTelemetry's serializer does it. */
function print(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf';
  return value === Number.NEGATIVE_INFINITY ? '-Inf' : String(value);
}
