import type { RecentCall } from '../admin/live.js';
import type { Paint, Tone } from '../text/paint.js';

type Attempt = RecentCall['attempts'][number];

interface Cell {
  readonly sign: string;
  readonly tone: Tone;
}

const blank: Cell = { sign: ' ', tone: 'quiet' };
const wait: Cell = { sign: '·', tone: 'quiet' };

function cellOf(result: Attempt['result']): Cell {
  switch (result) {
    case 'ok':
      return { sign: '█', tone: 'good' };
    case 'cancelled':
      return { sign: '░', tone: 'quiet' };
    case 'failed':
    case 'lost':
    case 'unplaced':
      return { sign: '▒', tone: 'bad' };
    default:
      return result satisfies never;
  }
}

/** Where attempts lie above one another: what answered is seen before what failed, and that before what was cut. */
const order: readonly Attempt['result'][] = ['cancelled', 'unplaced', 'lost', 'failed', 'ok'];

/**
 * A call on one line of `columns` cells, its attempts on a common time axis: `▒▒··▒▒····███`. Waits between attempts are
 * dots. An attempt is never narrower than a cell.
 */
export function drawLine({ ms, attempts }: Pick<RecentCall, 'ms' | 'attempts'>, columns: number, paint: Paint): string {
  const length = Math.max(0.001, ms, ...attempts.map((attempt) => attempt.at + attempt.ms));
  const cells = new Array<Cell>(columns).fill(blank);
  const columnOf = (time: number): number => Math.min(columns, Math.max(0, Math.round((time / length) * columns)));
  const extent = ({ at, ms: took }: Attempt): readonly [from: number, to: number] => {
    const from = Math.min(columns - 1, columnOf(at));
    return [from, Math.max(from + 1, columnOf(at + took))];
  };
  const last = Math.max(0, ...attempts.map((attempt) => extent(attempt)[0]));
  if (attempts.length > 0) cells.fill(wait, 0, last);
  for (const result of order) {
    for (const attempt of attempts) if (attempt.result === result) cells.fill(cellOf(result), ...extent(attempt));
  }
  return inRuns(cells, paint);
}

/** One change of colour for a run of cells, not for each. */
function inRuns(cells: readonly Cell[], paint: Paint): string {
  let text = '';
  let run = '';
  let tone: Tone = 'quiet';
  for (const cell of cells) {
    if (cell.tone !== tone && run !== '') {
      text += paint(tone, run);
      run = '';
    }
    tone = cell.tone;
    run += cell.sign;
  }
  return text + paint(tone, run);
}
