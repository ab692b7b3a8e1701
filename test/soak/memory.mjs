/** The memory of a soaked program, as the operating system and as its heap tell it. */
import { readFileSync } from 'node:fs';

const mebi = 1024 * 1024;

/** @typedef {{ minute: number, mib: number }} Sample */

/** What a soak must not grow by, over its second half (MiB a minute). The first half is warm-up. */
export const bounds = {
  /**
   * Held after a garbage collection. The soak makes some 15 000 calls a minute and 40 connections: so 1 MiB is 70 bytes a call,
   * less than the smallest object with a closure that could be forgotten, and 26 KiB a connection. What calls in flight hold
   * moves a sample by 1 or 2 MiB, and the slope over five minutes of samples by a tenth of that.
   */
  held: 1,
  /** What the heap has not given back comes and goes in steps of megabytes, so that only more than this says something. */
  rss: 5,
};

export class MemoryRecord {
  /** @type {Sample[]} */
  rss = [];
  /** Heap, buffers and other native memory that is held after a collection. @type {Sample[]} */
  held = [];
  #begun = performance.now();

  #minute() {
    return (performance.now() - this.#begun) / 60_000;
  }

  /** Reads what the operating system says. */
  look(pid) {
    const kib = Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
    this.rss.push({ minute: this.#minute(), mib: kib / 1024 });
  }

  /** Takes a line of heap-probe.cjs. */
  take(line) {
    const { heapUsed, external } = JSON.parse(line);
    this.held.push({ minute: this.#minute(), mib: (heapUsed + external) / mebi });
  }

  /** @returns {{ held: number, rss: number }} MiB a minute over the second half */
  slopes() {
    return { held: slope(this.held), rss: slope(this.rss) };
  }

  /** A line for each minute: the least RSS and the least held in it. */
  byMinute() {
    const minutes = Math.ceil(this.rss.at(-1)?.minute ?? 0);
    return Array.from({ length: minutes }, (_, minute) => {
      const least = (samples) =>
        Math.min(...samples.filter((sample) => Math.floor(sample.minute) === minute).map(({ mib }) => mib));
      const words = (mib) => (Number.isFinite(mib) ? `${mib.toFixed(1)} MiB` : '-');
      return `minute ${minute + 1}: RSS at least ${words(least(this.rss))}, held after a collection ${words(least(this.held))}`;
    });
  }
}

/**
 * The least of each half minute: attackers who do not read have much held for five seconds in each half minute, and what is to be
 * judged is what stays.
 *
 * @param {Sample[]} samples @returns {Sample[]}
 */
function floors(samples) {
  const least = new Map();
  for (const { minute, mib } of samples) {
    const window = Math.floor(2 * minute);
    least.set(window, Math.min(least.get(window) ?? Number.POSITIVE_INFINITY, mib));
  }
  return [...least].map(([window, mib]) => ({ minute: window / 2, mib }));
}

/** Of the least squares line through the floors of the second half. @param {Sample[]} samples */
function slope(samples) {
  const all = floors(samples);
  const half = all.slice(all.length >> 1);
  if (half.length < 3) return 0;
  const mean = (key) => half.reduce((sum, sample) => sum + sample[key], 0) / half.length;
  const [x, y] = [mean('minute'), mean('mib')];
  const over = half.reduce((sum, { minute, mib }) => sum + (minute - x) * (mib - y), 0);
  return over / half.reduce((sum, { minute }) => sum + (minute - x) ** 2, 0);
}
