import type { AttemptRecord } from '../proxy/observer.js';
import { duration, type Paint, type Tone } from '../text/paint.js';

/** Maps the call's time to columns. */
export interface Axis {
  /** Clock ms. */
  readonly start: number;
  /** Milliseconds, more than 0. */
  readonly length: number;
  readonly columns: number;
}

const signs: Readonly<Record<AttemptRecord['result'], string>> = {
  ok: '█',
  failed: '▒',
  lost: '▒',
  cancelled: '░',
  unplaced: '▒',
};

export function toneOf({ result }: AttemptRecord): Tone {
  if (result === 'ok') return 'good';
  return result === 'cancelled' ? 'quiet' : 'bad';
}

function columnOf(axis: Axis, at: number): number {
  const column = Math.round(((at - axis.start) / axis.length) * axis.columns);
  return Math.min(axis.columns, Math.max(0, column));
}

/** First column and the one after the last: never none, however short the attempt. */
function extentOf(attempt: AttemptRecord, axis: Axis): readonly [start: number, end: number] {
  const start = Math.min(axis.columns - 1, columnOf(axis, attempt.startedAt));
  return [start, Math.max(start + 1, columnOf(axis, attempt.endedAt))];
}

/**
 * One attempt's line on the axis, exactly `axis.columns` wide: what it waited for, then itself. A retry waits from the end of
 * the attempt before it, a hedge from its start, or from its end where that failed and brought the hedge forward.
 *
 * @returns `wait`: the ms before the attempt where the line had no room to say it; else null
 */
export function drawBar(
  attempt: AttemptRecord,
  previous: AttemptRecord | null,
  axis: Axis,
  paint: Paint,
): { readonly cells: string; readonly wait: number | null } {
  const [start, end] = extentOf(attempt, axis);
  const hedge = attempt.cause === 'hedge';
  const beside = hedge && previous !== null && previous.endedAt > attempt.startedAt;
  const since = previous === null ? attempt.startedAt : beside ? previous.startedAt : previous.endedAt;
  const from = previous === null ? start : Math.min(start, extentOf(previous, axis)[beside ? 0 : 1]);
  const waited = Math.max(0, attempt.startedAt - since);
  const label = ` ${duration(waited)} `;
  const fits = start - from >= label.length + 2;
  const sign = hedge ? '╌' : '·';
  const dots = waited > 0 && fits ? centre(label, start - from, sign) : sign.repeat(start - from);
  const bar = paint(toneOf(attempt), signs[attempt.result].repeat(end - start));
  return {
    cells: `${' '.repeat(from)}${paint('quiet', dots)}${bar}${' '.repeat(axis.columns - end)}`,
    wait: (hedge || attempt.cause === 'retry') && !fits ? waited : null,
  };
}

function centre(label: string, width: number, sign: string): string {
  const before = Math.floor((width - label.length) / 2);
  return `${sign.repeat(before)}${label}${sign.repeat(width - label.length - before)}`;
}
