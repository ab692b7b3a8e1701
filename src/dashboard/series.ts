import type { LiveSnapshot } from '../admin/live.js';
import {
  attemptsPerCall,
  callRate,
  type Quantile,
  quantile,
  quantileUnhedged,
  spanOf,
  successShare,
  successShareWithout,
} from '../admin/live-math.js';
import { type History, keptMs, since } from './history.js';

/* What the charts draw. Pure. */

/** How far back a rate looks, and a quantile or share, which few calls would make jump (ms). */
const rateMs = 10_000;
const shareMs = 30_000;

/** One moment of every chart; null: nothing to draw there. */
export interface Point {
  /** Seconds since 1970. */
  readonly at: number;
  readonly callsPerSecond: number | null;
  readonly inFlight: number;
  /** Percent. */
  readonly success: number | null;
  readonly successWithout: number | null;
  /** Milliseconds; where only a lower bound is known, that. */
  readonly p50: number | null;
  readonly p99: number | null;
  /** As it would be without hedges. */
  readonly p99Unhedged: number | null;
  readonly attempts: number | null;
  readonly tokens: number | null;
  readonly threshold: number | null;
}

/** The moment of the last snapshot. */
export function pointOf(history: History): Point | null {
  const last = history.at(-1);
  if (last === undefined) return null;
  const near = spanOf(last, within(history, last, rateMs));
  const far = spanOf(last, within(history, last, shareMs));
  const { throttle } = last;
  return {
    at: last.at / 1000,
    callsPerSecond: near === null ? null : callRate(near),
    inFlight: last.in_flight,
    success: far === null ? null : percent(successShare(far)),
    successWithout: far === null ? null : percent(successShareWithout(far)),
    p50: far === null ? null : drawn(quantile(far.latency.calls, 0.5)),
    p99: far === null ? null : drawn(quantile(far.latency.calls, 0.99)),
    p99Unhedged: far === null || far.calls.hedged === 0 ? null : drawn(quantileUnhedged(far.latency, 0.99)),
    attempts: far === null ? null : attemptsPerCall(far),
    tokens: throttle?.tokens ?? null,
    threshold: throttle?.threshold ?? null,
  };
}

/** With one more; what is older than is kept is forgotten. */
export function append(points: readonly Point[], point: Point): readonly Point[] {
  const oldest = point.at - keptMs / 1000;
  return [...points.filter(({ at }) => at >= oldest && at < point.at), point];
}

/** Shown at least (s): with less, a line of a few points would fill the whole width. */
const leastSpan = 60;

/** From when to when the charts go, in seconds since 1970. @param now where there is no point yet */
export function timeRange(points: readonly Point[], now: number): [from: number, to: number] {
  const to = points.at(-1)?.at ?? now;
  return [Math.min(points[0]?.at ?? now, to - leastSpan), to];
}

/** A program younger than the span is measured from its start. A single snapshot of an older one says nothing of now. */
function within(history: History, last: LiveSnapshot, ms: number): LiveSnapshot | null {
  const base = since(history, ms);
  if (base !== null) return base;
  return last.uptime_ms <= ms ? null : last;
}

function percent(share: number | null): number | null {
  return share === null ? null : share * 100;
}

function drawn(found: Quantile): number | null {
  return found.kind === 'none' ? null : found.ms;
}
