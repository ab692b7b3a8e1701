import { Status, statusName } from '../grpc/status.js';
import type { CallRecord } from '../proxy/observer.js';
import { count, createPaint } from '../text/paint.js';
import type { Look } from './waterfall.js';

/** Explains the signs of `drawCall`. Ends with a line end. */
export function drawLegend(look: Look): string {
  const paint = createPaint(look.color);
  const signs: readonly (readonly [length: number, text: string])[] = [
    [13, `${paint('good', '█')} answered OK`],
    [8, `${paint('bad', '▒')} failed`],
    [11, `${paint('quiet', '░')} cancelled`],
    [24, `${paint('quiet', '·')} waiting before a retry`],
    [24, `${paint('quiet', '╌')} waiting before a hedge`],
    [37, `${paint('strong', '◀')} the client gets this one’s answer`],
  ];
  let lines = '';
  let used = 0;
  for (const [length, text] of signs) {
    const fits = used > 0 && used + 3 + length <= look.width;
    lines += used === 0 ? text : `${fits ? '   ' : '\n'}${text}`;
    used = fits ? used + 3 + length : length;
  }
  return `${lines}\n`;
}

/** Ended by itself, and not well. */
function firstFailed({ attempts: [first] }: CallRecord): boolean {
  return first !== undefined && first.result !== 'ok' && first.result !== 'cancelled';
}

/** A hedge answered while the first attempt was still under way. */
export function hedgeWon({ code, attempts: [first, ...others] }: CallRecord): boolean {
  if (code !== Status.OK || first?.result !== 'cancelled') return false;
  return others.some(({ cause, result }) => cause === 'hedge' && result === 'ok');
}

/** The sum of all: what clients saw, and what they would have seen without a policy. Ends with a line end. */
export function drawSummary(records: readonly CallRecord[], look: Look): string {
  const paint = createPaint(look.color);
  const attempts = records.reduce((sum, { attempts: { length } }) => sum + length, 0);
  const seen = records.filter(({ code }) => code !== Status.OK);
  const hidden = records.filter((record) => record.code === Status.OK && firstFailed(record));
  const byStatus = new Map<string, number>();
  for (const { code } of seen) byStatus.set(statusName(code), (byStatus.get(statusName(code)) ?? 0) + 1);
  const which = [...byStatus].map(([status, times]) => `${status} × ${times}`).join(', ');
  const number = (value: number): string => String(value).padStart(4);
  const lines = [
    paint('strong', `${count(records.length, 'call')}, ${count(attempts, 'attempt')}`),
    `  failures the client saw                 ${number(seen.length)}${which === '' ? '' : `   ${which}`}`,
    `  failures without retries                ${number(seen.length + hidden.length)}`,
    `  slow calls that a hedge answered sooner ${number(records.filter(hedgeWon).length)}`,
  ];
  return `${lines.join('\n')}\n`;
}
