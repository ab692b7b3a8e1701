import { nearest } from '../config/nearest.js';
import type { Parsed } from '../config/parsed.js';
import { printable, quote } from '../config/quote.js';
import { type Millis, millis } from '../grpc/millis.js';
import { Complaint, readItems, readShare, readTime, splitItems } from './grammar.js';
import { normalQuantile } from './normal-quantile.js';

/** A time that differs from one draw to the next. */
export interface Distribution {
  /** @param random numbers in [0, 1) */
  draw(random: () => number): Millis;
}

/** Shares may miss a whole by what decimals lose. */
const slack = 1e-9;

const names = ['constant', 'uniform', 'exponential', 'lognormal', 'percentiles'] as const;
type Name = (typeof names)[number];

/**
 * Reads `20ms`, `constant(20ms)`, `uniform(10ms,30ms)`, `exponential(mean=20ms)`, `lognormal(median=20ms,p99=200ms)`,
 * `percentiles(p50=20ms,p99=80ms,p99.9=1s)`, and mixtures: `99%:20ms,1%:1s`; an item without a share takes the rest.
 *
 * @returns what is wrong, with the item and where it begins
 */
export function parseDistribution(text: string): Parsed<Distribution> {
  const read = readItems(text, readItem);
  if (!read.ok) return read;
  const items = read.value;
  const open = items.filter(({ share }) => share === null).length;
  const given = items.reduce((sum, { share }) => sum + (share ?? 0), 0);
  if (open > 1) return { ok: false, problem: 'of several items each but one needs its share, like 99%:20ms,1%:1s' };
  if (open === 0 && Math.abs(given - 1) > slack) return { ok: false, problem: sumProblem(given) };
  if (given > 1 + slack) return { ok: false, problem: sumProblem(given) };
  const parts = items.map(({ share, of }) => ({ share: share ?? 1 - given, of }));
  const [first] = parts;
  if (first !== undefined && parts.length === 1) return { ok: true, value: first.of };
  return { ok: true, value: mixture(parts) };
}

function sumProblem(given: number): string {
  return `the shares are ${Number((given * 100).toFixed(6))} % together and must be 100 %; an item without a share takes the rest`;
}

interface Part {
  readonly share: number;
  readonly of: Distribution;
}

function mixture(parts: readonly Part[]): Distribution {
  return {
    draw(random) {
      let left = random();
      for (const { share, of } of parts) {
        if (left < share) return of.draw(random);
        left -= share;
      }
      return parts.at(-1)?.of.draw(random) ?? millis(0);
    },
  };
}

function readItem(item: string): { readonly share: number | null; readonly of: Distribution } {
  const [, shareText, rest = item] = /^([^(:]*%):(.*)$/s.exec(item) ?? [];
  return { share: shareText === undefined ? null : readShare(shareText.trim()), of: readOne(rest.trim()) };
}

function readOne(text: string): Distribution {
  const [, word, inside] = /^([a-z]+)\((.*)\)$/is.exec(text) ?? [];
  if (word === undefined || inside === undefined) {
    if (/^[a-z]/i.test(text))
      throw new Complaint(`write it as ${nearest(text, names) ?? 'lognormal'}(…), or a time like 20ms`);
    return constant(readTime(text, 'a time is missing, like 20ms'));
  }
  const name = names.find((known) => known === word.toLowerCase());
  if (name === undefined) {
    const near = nearest(word, names);
    throw new Complaint(
      `${quote(word)} is no distribution; ${near === null ? `there are ${names.join(', ')}` : `did you mean ${near}?`}`,
    );
  }
  return build(
    name,
    splitItems(inside).map((piece) => piece.text),
  );
}

function build(name: Name, inside: readonly string[]): Distribution {
  switch (name) {
    case 'constant': {
      const [time = '', second] = inside;
      if (second !== undefined) throw new Complaint('constant(TIME) has one time');
      return constant(readTime(time, 'constant(TIME) needs its time'));
    }
    case 'uniform': {
      const [from = '', to = '', third] = inside;
      const [low, high] = [readTime(from, uniformNeeds), readTime(to, uniformNeeds)];
      if (third !== undefined) throw new Complaint(uniformNeeds);
      if (low > high) throw new Complaint('the first time of uniform(FROM,TO) is the longer one');
      return { draw: (random) => millis(low + (high - low) * random()) };
    }
    case 'exponential': {
      const [mean = 0] = readNamed(inside, ['mean'], 'exponential(mean=TIME)');
      return { draw: (random) => millis(-mean * Math.log(1 - random())) };
    }
    case 'lognormal': {
      const [median = 0, p99 = 0] = readNamed(inside, ['median', 'p99'], 'lognormal(median=TIME,p99=TIME)');
      if (!(median > 0 && p99 >= median)) throw new Complaint('the median is more than 0, and p99 is not below it');
      const sigma = Math.log(p99 / median) / normalQuantile(0.99);
      return { draw: (random) => millis(median * Math.exp(sigma * normalQuantile(random()))) };
    }
    case 'percentiles':
      return percentiles(inside);
    default:
      return name satisfies never;
  }
}

const uniformNeeds = 'uniform(FROM,TO) has two times';

function constant(time: Millis): Distribution {
  return { draw: () => time };
}

/** @param shape how it is to be written, each key once */
function readNamed(inside: readonly string[], keys: readonly string[], shape: string): readonly Millis[] {
  const found = new Map<string, Millis>();
  for (const text of inside) {
    const [, key = '', time = ''] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
    const name = key.trim().toLowerCase();
    if (!keys.includes(name) || found.has(name)) throw new Complaint(`write ${shape}`);
    found.set(name, readTime(time.trim(), `write ${shape}`));
  }
  return keys.map((key) => {
    const time = found.get(key);
    if (time === undefined) throw new Complaint(`${key} is missing; write ${shape}`);
    return time;
  });
}

/** One point of a curve: `share` of the draws are at or under `time`. */
interface Point {
  readonly share: number;
  readonly time: Millis;
}

const percentilesShape = 'percentiles(p50=TIME,p99=TIME,…)';

/**
 * A curve through measured percentiles, even on a logarithmic scale between two of them. Below the first it goes to `min`,
 * half of the first where that is not given; above the last to `max`, the last itself where that is not given.
 */
function percentiles(inside: readonly string[]): Distribution {
  const points: Point[] = [];
  let min: Millis | null = null;
  let max: Millis | null = null;
  for (const text of inside) {
    const [, key = '', value = ''] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
    const name = key.trim().toLowerCase();
    const time = readTime(value.trim(), `write ${percentilesShape}`);
    if (time <= 0) throw new Complaint(`${printable(name.slice(0, 60))} must be more than 0`);
    if (name === 'min') min = time;
    else if (name === 'max') max = time;
    else {
      const [, amount] = /^p(\d{1,2}(?:\.\d{1,6})?)$/.exec(name) ?? [];
      if (amount === undefined || Number(amount) === 0)
        throw new Complaint(`${quote(name)} is no percentile; write p50, p99.9, min or max`);
      points.push({ share: Number(amount) / 100, time });
    }
  }
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined) throw new Complaint(`write ${percentilesShape}`);
  const curve = [{ share: 0, time: min ?? millis(first.time / 2) }, ...points, { share: 1, time: max ?? last.time }];
  for (const [index, point] of curve.entries()) {
    const next = curve[index + 1];
    if (next !== undefined && (next.share <= point.share || next.time < point.time))
      throw new Complaint('percentiles must rise, and their times must not fall');
  }
  return { draw: (random) => onCurve(curve, random()) };
}

function onCurve(curve: readonly Point[], share: number): Millis {
  for (const [index, to] of curve.entries()) {
    const from = curve[index - 1];
    if (from === undefined || share >= to.share) continue;
    return millis(from.time * (to.time / from.time) ** ((share - from.share) / (to.share - from.share)));
  }
  return curve.at(-1)?.time ?? millis(0);
}
