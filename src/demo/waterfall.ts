import { reasonInWords } from '../grpc/reason-words.js';
import { Status, statusName } from '../grpc/status.js';
import type { AttemptRecord, CallRecord } from '../proxy/observer.js';
import { clip, count, createPaint, duration, type Paint, type Tone } from './paint.js';

/** How the text is to look. */
export interface Look {
  readonly color: boolean;
  /** Columns; 60 is the least that makes sense. */
  readonly width: number;
}

/** One call to draw. */
export interface ShownCall {
  /** From 1. */
  readonly number: number;
  /** What the call is, beside its method. */
  readonly title: string;
  readonly record: CallRecord;
  /** One more line for the reader, or null. */
  readonly note: string | null;
}

const bars: Readonly<Record<AttemptRecord['result'], string>> = {
  ok: '█',
  failed: '▒',
  lost: '▒',
  cancelled: '░',
  unplaced: '▒',
};

/** Explains the signs of `drawCall`. */
export function drawLegend(look: Look): string {
  const paint = createPaint(look.color);
  const signs = [
    `${paint('good', '█')} answered OK`,
    `${paint('bad', '▒')} failed`,
    `${paint('quiet', '░')} given up`,
    `${paint('quiet', '·')} waiting before a retry`,
    `${paint('strong', '◀')} the client gets this one’s answer`,
  ];
  return `${signs.join('   ')}\n`;
}

/**
 * One call as a block: what the client saw, then a line for each attempt on a common time axis, then why there was no
 * further one. Ends with a line end.
 */
export function drawCall({ number, title, record, note }: ShownCall, look: Look): string {
  const paint = createPaint(look.color);
  const lines = [drawHead(number, title, record, look.width, paint)];
  const names = record.attempts.map(({ backend }) => backend ?? 'nowhere');
  const nameWidth = Math.min(16, Math.max(5, ...names.map((name) => name.length)));
  const axis: Axis = {
    start: record.startedAt,
    length: Math.max(0.001, record.endedAt - record.startedAt),
    columns: Math.max(12, Math.min(48, look.width - nameWidth - 59)),
  };
  let previous: AttemptRecord | null = null;
  record.attempts.forEach((attempt, index) => {
    const told = isTold(record, index);
    const { cells, wait } = drawBar(attempt, previous, axis, paint);
    const name = clip(names[index] ?? '', nameWidth).padEnd(nameWidth);
    const took = duration(attempt.endedAt - attempt.startedAt).padStart(9);
    const left = `   ${index + 1} ${name} `;
    const used = left.length + axis.columns + 2 + took.length + 2;
    const outcome = drawOutcome(attempt, wait, told, Math.max(12, look.width - used), paint);
    lines.push(`${left}│${cells}│${took}  ${outcome}`);
    previous = attempt;
  });
  lines.push(`     ${paint('quiet', endInWords(record))}`);
  if (note !== null) lines.push(`     ${paint('quiet', note)}`);
  return `${lines.join('\n')}\n`;
}

function endInWords({ reason, code, retries, replayPeak }: CallRecord): string {
  if (reason !== 'ok') return reasonInWords({ reason, code, attempts: retries + 1 });
  if (retries === 0) return 'answered at the first attempt';
  const kept = replayPeak === 0 ? '' : `; ${count(replayPeak, 'request byte')} had been kept and went again`;
  return `${count(retries, 'retry')}, and the client never saw a failure${kept}`;
}

/** `/pkg.Service/Method` → `Service/Method` */
function shortMethod(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1);
}

function drawHead(number: number, title: string, record: CallRecord, width: number, paint: Paint): string {
  const status = statusName(record.code);
  const total = duration(record.endedAt - record.startedAt);
  const method = shortMethod(record.method);
  const right = status.length + 2 + total.length;
  const left = `#${number} ${method}  `;
  const room = Math.max(0, width - left.length - right - 1);
  const text = clip(title, room);
  const gap = ' '.repeat(Math.max(1, width - left.length - text.length - right));
  const tone: Tone = record.code === Status.OK ? 'good' : 'bad';
  return `${paint('strong', left.trimEnd())}  ${text}${gap}${paint(tone, status)}  ${total}`;
}

/** Whether the client got what this attempt gave: the last one's, unless the proxy itself had the last word. */
function isTold(record: CallRecord, index: number): boolean {
  if (index !== record.attempts.length - 1) return false;
  return record.commit !== null || record.origin === 'backend';
}

/** Maps the call's time to columns. */
interface Axis {
  /** Clock ms. */
  readonly start: number;
  /** Milliseconds, more than 0. */
  readonly length: number;
  readonly columns: number;
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

/** @returns `wait`: the ms before the attempt where the dots had no room to say it; else null */
function drawBar(
  attempt: AttemptRecord,
  previous: AttemptRecord | null,
  axis: Axis,
  paint: Paint,
): { cells: string; wait: number | null } {
  const [start, end] = extentOf(attempt, axis);
  const from = previous === null ? start : Math.min(start, extentOf(previous, axis)[1]);
  const waited = previous === null ? 0 : Math.max(0, attempt.startedAt - previous.endedAt);
  const label = ` ${duration(waited)} `;
  const fits = start - from >= label.length + 2;
  const dots = waited > 0 && fits ? centre(label, start - from) : '·'.repeat(start - from);
  const tone: Tone = attempt.result === 'ok' ? 'good' : attempt.result === 'cancelled' ? 'quiet' : 'bad';
  const bar = paint(tone, bars[attempt.result].repeat(end - start));
  return {
    cells: `${' '.repeat(from)}${paint('quiet', dots)}${bar}${' '.repeat(axis.columns - end)}`,
    wait: attempt.cause === 'retry' && !fits ? waited : null,
  };
}

function centre(label: string, width: number): string {
  const before = Math.floor((width - label.length) / 2);
  return `${'·'.repeat(before)}${label}${'·'.repeat(width - label.length - before)}`;
}

function drawOutcome(attempt: AttemptRecord, wait: number | null, told: boolean, room: number, paint: Paint): string {
  const sign = told ? ' ◀' : '';
  const words = wording(attempt);
  const head = clip(words, room - sign.length);
  // An OK has nothing to explain; grpc-js sends "OK" as its message.
  const message = attempt.result === 'ok' ? '' : attempt.message;
  const extra = [wait === null ? '' : `after ${duration(wait)}`, message].filter((part) => part !== '');
  const rest = extra.length === 0 ? '' : clip(`  ${extra.join(', ')}`, room - sign.length - head.length);
  const tone: Tone = attempt.result === 'ok' ? 'good' : attempt.result === 'cancelled' ? 'quiet' : 'bad';
  return `${paint(tone, head)}${paint('strong', sign)}${rest.trim() === '…' ? '' : paint('quiet', rest)}`;
}

function wording({ result, code, cause }: AttemptRecord): string {
  const again = cause === 'transparent' ? ' (sent again unseen)' : '';
  switch (result) {
    case 'ok':
      return `OK${again}`;
    case 'failed':
      return `${statusName(code)}${again}`;
    case 'lost':
      return `connection lost${again}`;
    case 'cancelled':
      return `given up${again}`;
    case 'unplaced':
      return `no connection${again}`;
    default:
      return result satisfies never;
  }
}

/** The sum of all: what clients saw, and what they would have seen without retries. Ends with a line end. */
export function drawSummary(records: readonly CallRecord[], look: Look): string {
  const paint = createPaint(look.color);
  const attempts = records.reduce((sum, { attempts: { length } }) => sum + length, 0);
  const seen = records.filter(({ code }) => code !== Status.OK);
  const hidden = records.filter(({ code, retries }) => code === Status.OK && retries > 0);
  const byStatus = new Map<string, number>();
  for (const { code } of seen) byStatus.set(statusName(code), (byStatus.get(statusName(code)) ?? 0) + 1);
  const which = [...byStatus].map(([status, times]) => `${status} × ${times}`).join(', ');
  const lines = [
    paint('strong', `${count(records.length, 'call')}, ${count(attempts, 'attempt')}`),
    `  failures the client saw   ${String(seen.length).padStart(4)}${which === '' ? '' : `   ${which}`}`,
    `  failures without retries  ${String(seen.length + hidden.length).padStart(4)}`,
  ];
  return `${lines.join('\n')}\n`;
}
