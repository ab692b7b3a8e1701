import { reasonInWords } from '../grpc/reason-words.js';
import { helpFor, remedyFor } from '../grpc/remedies.js';
import { Status, statusName } from '../grpc/status.js';
import type { AttemptRecord, CallRecord } from '../proxy/observer.js';
import { clip, count, createPaint, duration, type Paint, type Tone, wrap } from '../text/paint.js';
import { outcomeWords } from '../text/words.js';
import { type Axis, drawBar, toneOf } from './bar.js';
import { type Bucket, drawGauge } from './gauge.js';

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
  /** What one sees and why; null: nothing to say. */
  readonly lesson: string | null;
  readonly record: CallRecord;
  /** The token bucket before the call and after it; null where nothing throttles. */
  readonly before: Bucket | null;
  readonly after: Bucket | null;
  /** Further lines for the reader. */
  readonly notes: readonly string[];
}

const indent = '     ';

/**
 * One call as a block: what the client saw, then a line for each attempt on a common time axis, then why there was no
 * further one, and what the call did to the token bucket. No line is wider than the terminal. Ends with a line end.
 */
export function drawCall(call: ShownCall, look: Look): string {
  const { number, title, lesson, record, before, after, notes } = call;
  const paint = createPaint(look.color);
  const quietly = (text: string): string[] =>
    wrap(text, look.width - indent.length).map((line) => `${indent}${paint('quiet', line)}`);
  const gauge = before === null || after === null ? null : drawGauge(before, after, look.width - indent.length, paint);
  const lines = [
    drawHead(number, title, record, look.width, paint),
    ...(lesson === null ? [] : wrap(lesson, look.width - indent.length).map((line) => `${indent}${line}`)),
    ...drawAttempts(record, look.width, paint),
    ...endInWords(record).flatMap(quietly),
    ...(gauge === null ? [] : [`${indent}${gauge}`]),
    ...notes.flatMap(quietly),
  ];
  return `${lines.join('\n')}\n`;
}

function drawAttempts(record: CallRecord, width: number, paint: Paint): string[] {
  const { attempts } = record;
  const names = attempts.map(({ backend }) => backend ?? 'nowhere');
  const nameWidth = Math.min(16, Math.max(5, ...names.map((name) => name.length)));
  const axis: Axis = {
    start: record.startedAt,
    length: Math.max(0.001, record.endedAt - record.startedAt),
    columns: Math.max(12, Math.min(48, width - nameWidth - 59)),
  };
  const told = indexOfTold(record);
  return attempts.map((attempt, index) => {
    const { cells, wait } = drawBar(attempt, attempts[index - 1] ?? null, axis, paint);
    const name = clip(names[index] ?? '', nameWidth).padEnd(nameWidth);
    const took = duration(attempt.endedAt - attempt.startedAt).padStart(9);
    const left = `   ${index + 1} ${name} `;
    const used = left.length + axis.columns + 2 + took.length + 2;
    const outcome = drawOutcome(attempt, wait, told === index, Math.max(12, width - used), paint);
    return `${left}│${cells}│${took}  ${outcome}`;
  });
}

/** The whole story: how it ended and why nothing more was tried, and what helps. */
function endInWords(record: CallRecord): string[] {
  const { reason, code, retries } = record;
  if (reason === 'ok') return [successInWords(record)];
  const words = reasonInWords({ reason, code, attempts: retries + 1 });
  const remedy = remedyFor(reason);
  return [`${reason}: ${words}`, ...(remedy === null ? [] : [`→ ${remedy} (${helpFor(reason)})`])];
}

function successInWords({ attempts, retries, replayPeak }: CallRecord): string {
  if (retries === 0) return 'answered at the first attempt';
  const kept = replayPeak === 0 ? '' : `; ${count(replayPeak, 'request byte')} had been kept and went again`;
  const hedges = attempts.filter(({ cause }) => cause === 'hedge').length;
  if (hedges === 0) return `${count(retries, 'retry')}, and the client never saw a failure${kept}`;
  const winner = attempts.findIndex(({ result }) => result === 'ok');
  const who =
    attempts[winner]?.cause === 'hedge' ? `attempt ${winner + 1}, a hedge, answered first` : 'the first one answered';
  return `${count(hedges, 'hedge')}: ${who}${kept}`;
}

/** `/pkg.Service/Method` → `Service/Method` */
function shortMethod(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1);
}

function drawHead(number: number, title: string, record: CallRecord, width: number, paint: Paint): string {
  const status = statusName(record.code);
  const total = duration(record.endedAt - record.startedAt);
  const right = status.length + 2 + total.length;
  const left = clip(`#${number} ${shortMethod(record.method)}`, Math.max(8, width - right - 1));
  const room = width - left.length - 2 - right - 1;
  const about = room < 2 ? '' : clip(`${pinInWords(record)}${title}`, room);
  const gap = ' '.repeat(Math.max(1, width - left.length - (about === '' ? 0 : 2 + about.length) - right));
  const tone: Tone = record.code === Status.OK ? 'good' : 'bad';
  return `${paint('strong', left)}${about === '' ? '' : `  ${about}`}${gap}${paint(tone, status)}  ${total}`;
}

function pinInWords({ pin }: CallRecord): string {
  if (pin === null) return '';
  return pin.strict ? `[pinned to ${pin.target}] ` : `[first to ${pin.target}] `;
}

/**
 * Which attempt's end the client got; -1 where the proxy itself had the last word. Of hedges that is the one that answered,
 * or the last to fail; an attempt that was cancelled is it only where it had begun to answer.
 */
function indexOfTold({ attempts, code, commit, origin }: CallRecord): number {
  if (commit === null && origin === 'proxy') return -1;
  let told = -1;
  attempts.forEach((attempt, index) => {
    if (attempt.result === 'cancelled' || attempt.code !== code) return;
    const best = attempts[told];
    if (best === undefined || attempt.endedAt >= best.endedAt) told = index;
  });
  return told === -1 ? attempts.length - 1 : told;
}

function drawOutcome(attempt: AttemptRecord, wait: number | null, told: boolean, room: number, paint: Paint): string {
  const sign = told ? ' ◀' : '';
  const head = clip(wording(attempt), room - sign.length);
  // An OK has nothing to explain; grpc-js sends "OK" as its message.
  const message = attempt.result === 'ok' ? '' : attempt.message;
  const extra = [wait === null ? '' : `after ${duration(wait)}`, message].filter((part) => part !== '');
  const rest = extra.length === 0 ? '' : clip(`  ${extra.join(', ')}`, room - sign.length - head.length);
  return `${paint(toneOf(attempt), head)}${paint('strong', sign)}${rest.trim() === '…' ? '' : paint('quiet', rest)}`;
}

function wording(attempt: AttemptRecord): string {
  switch (attempt.cause) {
    case 'first':
    case 'retry':
      return ended(attempt);
    case 'hedge':
      return `${ended(attempt)} (hedge)`;
    case 'transparent':
      return `${ended(attempt)} (sent again unseen)`;
    default:
      return attempt.cause satisfies never;
  }
}

function ended({ result, code }: AttemptRecord): string {
  return outcomeWords(result, statusName(code));
}
