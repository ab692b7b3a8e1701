import { type Millis, millis } from '../grpc/millis.js';
import { Status, type StatusCode } from '../grpc/status.js';
import type { StopReason } from '../grpc/stop-reason.js';
import type { CallFact, ModelRun } from './run-model.js';

/** From a call's start to its end, whatever the end was. */
export interface Times {
  readonly p50: Millis;
  readonly p90: Millis;
  readonly p99: Millis;
  readonly p999: Millis;
  readonly max: Millis;
  readonly mean: Millis;
}

/** A run in numbers. */
export interface Summary {
  readonly calls: number;
  readonly ok: number;
  /** Most frequent first. */
  readonly codes: readonly { readonly code: StatusCode; readonly calls: number }[];
  /** Why calls that failed were tried no more, most frequent first. */
  readonly reasons: readonly { readonly reason: StopReason; readonly calls: number }[];
  readonly times: Times;
  /** Of the calls that ended OK; null: there is none. */
  readonly okTimes: Times | null;
  /** Attempts that were sent to backends. */
  readonly attempts: number;
  readonly retries: number;
  readonly hedges: number;
  /** Calls that were answered by a hedge. */
  readonly hedgesWon: number;
  readonly peakInFlight: number;
  /** The most attempts that were sent within one second. */
  readonly peakPerSecond: number;
}

/** @param run of at least one call */
export function summarize(run: ModelRun): Summary {
  const { calls, sends, peakInFlight } = run;
  const good = calls.filter(({ code }) => code === Status.OK);
  const bad = calls.filter(({ code }) => code !== Status.OK);
  return {
    calls: calls.length,
    ok: good.length,
    codes: count(calls.map(({ code }) => code)).map(([code, number]) => ({ code, calls: number })),
    reasons: count(bad.map(({ reason }) => reason)).map(([reason, number]) => ({ reason, calls: number })),
    times: timesOf(calls),
    okTimes: good.length === 0 ? null : timesOf(good),
    attempts: sends.length,
    retries: sum(calls, ({ retries }) => retries),
    hedges: sum(calls, ({ hedges }) => hedges),
    hedgesWon: calls.filter(({ byHedge }) => byHedge).length,
    peakInFlight,
    peakPerSecond: mostWithin(sends, 1000),
  };
}

/** Calls whose end differs between two runs that met the same luck. */
export interface Difference {
  /** Failed in the first, OK in the second. */
  readonly saved: number;
  /** The reverse. */
  readonly spoilt: number;
}

export function compare(first: ModelRun, second: ModelRun): Difference {
  let saved = 0;
  let spoilt = 0;
  for (const [index, { code }] of first.calls.entries()) {
    const other = second.calls[index]?.code ?? code;
    if (code !== Status.OK && other === Status.OK) saved += 1;
    if (code === Status.OK && other !== Status.OK) spoilt += 1;
  }
  return { saved, spoilt };
}

/**
 * The nearest rank: the least value that so many are at or under.
 *
 * @param sorted ascending, not empty
 * @param share in (0, 1]
 */
export function quantile(sorted: readonly number[], share: number): number {
  // A share of decimals must not come to lie above the whole number that it stands for.
  const rank = Math.ceil(sorted.length * share - 1e-9);
  return sorted[Math.max(0, rank - 1)] ?? 0;
}

function timesOf(calls: readonly CallFact[]): Times {
  const sorted = calls.map(({ startedAt, endedAt }) => tidy(endedAt - startedAt)).toSorted((a, b) => a - b);
  const at = (share: number): Millis => millis(quantile(sorted, share));
  const mean = millis(tidy(sum(sorted, (time) => time) / sorted.length));
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), p999: at(0.999), max: at(1), mean };
}

/** Values with how often each is there, most frequent first, of as frequent ones the one that came first. */
function count<T>(values: readonly T[]): [T, number][] {
  const counts = new Map<T, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts].toSorted(([, a], [, b]) => b - a);
}

function sum<T>(values: readonly T[], of: (value: T) => number): number {
  return values.reduce((all, value) => all + of(value), 0);
}

/** @param moments ascending */
function mostWithin(moments: readonly number[], length: number): number {
  let most = 0;
  let from = 0;
  for (const [index, moment] of moments.entries()) {
    while ((moments[from] ?? moment) <= moment - length) from += 1;
    most = Math.max(most, index - from + 1);
  }
  return most;
}

/** Without what floating point adds: to a nanosecond. */
function tidy(time: number): Millis {
  return millis(Math.round(time * 1e6) / 1e6);
}
