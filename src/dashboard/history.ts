import type { LiveSnapshot } from '../admin/live.js';

/* The last minutes, in memory and no more. Pure. */

/** How much is kept (ms). */
export const keptMs = 10 * 60_000;
/** The span that figures are told for, as far as it is known (ms). */
const figuresMs = 5 * 60_000;
/** Below it there is too little to tell anything from (ms). */
const leastMs = 10_000;

/** Snapshots of one run, oldest first. */
export type History = readonly LiveSnapshot[];

/**
 * With one more. Those of another run are forgotten, as totals begin anew there, and those older than ten minutes; one that
 * is no later than the last, as may come again after a reconnect, takes its place.
 */
export function remember(history: History, snapshot: LiveSnapshot): History {
  const oldest = snapshot.uptime_ms - keptMs;
  const kept = history.filter(
    ({ instance, uptime_ms }) =>
      instance === snapshot.instance && uptime_ms >= oldest && uptime_ms < snapshot.uptime_ms,
  );
  return [...kept, snapshot];
}

/**
 * Where the span begins that the page tells figures for: five minutes ago, or what is known of them; null: at the start of
 * the program, which for a page that has just been opened is all that there is.
 */
export function baseOf(history: History): LiveSnapshot | null {
  const last = history.at(-1);
  if (last === undefined || last.uptime_ms <= figuresMs) return null;
  const base = since(history, figuresMs);
  return base === null || last.uptime_ms - base.uptime_ms < leastMs ? null : base;
}

/** The oldest snapshot of the last so many ms; null: none but the last one itself. */
export function since(history: History, ms: number): LiveSnapshot | null {
  const last = history.at(-1);
  if (last === undefined) return null;
  const found = history.find(({ uptime_ms }) => uptime_ms >= last.uptime_ms - ms);
  return found === undefined || found === last ? null : found;
}
