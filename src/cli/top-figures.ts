import type { LiveThrottle } from '../admin/live.js';
import {
  attemptsPerCall,
  callRate,
  percent,
  quantile,
  quantileUnhedged,
  type Span,
  spanOf,
  successShare,
  successShareWithout,
} from '../admin/live-math.js';
import { legible } from '../grpc/legible.js';
import { clip, count } from '../text/paint.js';
import { amount, quantileWords, span } from '../text/words.js';
import type { Look } from './top-look.js';
import type { Shown } from './top-state.js';

/** Calls, success, latency and ends of the span, and the token bucket now. */
export function figureLines({ snapshot, previous }: Shown, look: Look): string[] {
  const period = spanOf(snapshot, previous);
  const { in_flight, clients, throttle } = snapshot;
  const since = previous === null ? 'since the start' : `last ${span((period?.seconds ?? 0) * 1000)}`;
  const rows: [label: string, parts: string[]][] = [
    [
      'calls',
      [
        period === null ? '–' : `${amount(callRate(period))}/s`,
        `in flight ${in_flight}`,
        count(clients, 'client'),
        since,
      ],
    ],
    ['success', period === null ? ['–'] : successParts(period)],
    ['latency', period === null ? ['–'] : latencyParts(period)],
  ];
  const ends = period === null ? [] : endParts(period);
  if (ends.length > 0) rows.push(['ends', ends]);
  const lines = rows.map(([label, parts]) => figureLine(label, parts, look));
  return throttle === null ? lines : [...lines, tokenLine(throttle, look)];
}

const labelWidth = 10;

function figureLine(label: string, parts: readonly string[], { size, paint }: Look): string {
  const text = parts.join('   ');
  return `${paint('quiet', label.padEnd(labelWidth))}${clip(text, size.columns - labelWidth)}`;
}

function share(value: number | null): string {
  return value === null ? '–' : percent(value);
}

function successParts(period: Span): string[] {
  const mean = attemptsPerCall(period);
  return [
    share(successShare(period)),
    `without retries ${share(successShareWithout(period))}`,
    `attempts per call ${mean === null ? '–' : mean.toFixed(2)}`,
  ];
}

function latencyParts({ calls, latency }: Span): string[] {
  const parts = [
    `p50 ${quantileWords(quantile(latency.calls, 0.5))}`,
    `p99 ${quantileWords(quantile(latency.calls, 0.99))}`,
  ];
  if (calls.hedged === 0) return parts;
  return [...parts, `p99 without hedges ${quantileWords(quantileUnhedged(latency, 0.99))}`];
}

/** Why calls did not end OK, most frequent first. */
function endParts({ reasons }: Span): string[] {
  return Object.entries(reasons)
    .filter(([reason]) => reason !== 'ok')
    .sort(([, a], [, b]) => b - a)
    .map(([reason, times]) => `${legible(reason)} ${times}`);
}

/** Even: the threshold stands in the middle (A6, Throttling: half of maxTokens). */
const tokenCells = 20;

function tokenLine({ tokens, max_tokens, threshold, shut }: LiveThrottle, { paint, size }: Look): string {
  const exact = max_tokens > 0 ? (tokens / max_tokens) * tokenCells : 0;
  // Rounded away from the threshold: a bar that ends at it is shut, one that goes beyond is not.
  const full = Math.min(tokenCells, Math.max(0, shut ? Math.floor(exact) : Math.ceil(exact)));
  const bar = '■'.repeat(full) + '·'.repeat(tokenCells - full);
  const half = tokenCells / 2;
  const shown = `${bar.slice(0, half)}┃${bar.slice(half)}`;
  const words = `${amount(tokens)} of ${amount(max_tokens)}; ${shut ? 'no retries until above' : 'retries above'} ${amount(threshold)}`;
  const room = size.columns - labelWidth - tokenCells - 4;
  return `${paint('quiet', 'tokens'.padEnd(labelWidth))}│${paint(shut ? 'bad' : 'good', shown)}│ ${clip(words, room)}`;
}
