import type { BackendRow, BackendState } from '../admin/backend-state.js';
import type { RecentCall } from '../admin/live.js';
import { legible } from '../grpc/legible.js';
import { clip, type Tone, wrap } from '../text/paint.js';
import { briefly, shortMethod, span } from '../text/words.js';
import { drawLine } from './top-line.js';
import type { Look } from './top-look.js';
import { indexOf, type TopState } from './top-state.js';

const stateTones: Readonly<Record<BackendState, Tone | null>> = {
  draining: 'warn',
  down: 'bad',
  connecting: 'warn',
  parked: 'bad',
  rate_limited: 'warn',
  ready: null,
};

/** Columns of a backend's row beside its name and why. */
const stateWidth = 12;
const numberWidth = 7;
const backInWidth = 9;

/** @param most rows, one at least; those that are not well come first, so that they are seen where not all are */
export function backendLines(backends: readonly BackendRow[], most: number, look: Look): string[] {
  const { paint, size } = look;
  const ordered = [...backends].sort((a, b) => Number(a.state === 'ready') - Number(b.state === 'ready'));
  const fits = ordered.length <= most;
  const rows = ordered.slice(0, fits ? most : Math.max(1, most - 1));
  const width = Math.min(Math.floor(size.columns * 0.3), Math.max(8, ...rows.map(({ name }) => name.length)));
  const title = [
    'BACKEND'.padEnd(width),
    'STATE'.padEnd(stateWidth),
    'IN FLIGHT',
    'FAILED'.padStart(numberWidth),
    'OF LATE',
    'BACK IN '.padEnd(backInWidth),
    'WHY',
  ].join(' ');
  const lines = [paint('strong', clip(title, size.columns)), ...rows.map((row) => backendLine(row, width, look))];
  if (!fits) lines.push(paint('quiet', `… and ${backends.length - rows.length} more: GET /backends`));
  return lines;
}

function backendLine(row: BackendRow, width: number, { paint, size }: Look): string {
  const { state, in_flight, failures, failure_rate, why } = row;
  const name = clip(legible(row.name), width).padEnd(width);
  // A newer proxy may have states that are not known here.
  const tone = stateTones[state] ?? null;
  const word = clip(state.replace('_', ' '), stateWidth).padEnd(stateWidth);
  const rest = [
    String(in_flight).padStart('IN FLIGHT'.length),
    String(failures).padStart(numberWidth),
    `${Math.round(failure_rate * 100)} %`.padStart('OF LATE'.length),
    clip(backIn(row), backInWidth).padEnd(backInWidth),
  ].join(' ');
  const room = Math.max(0, size.columns - width - stateWidth - rest.length - 3);
  // The row says already which backend it is.
  const reason = clip(legible(why ?? '').replace(/^backend \S+ at \S+: /, ''), room);
  return `${name} ${tone === null ? word : paint(tone, word)} ${rest} ${reason}`.trimEnd();
}

/** When something is done about it: a park's end, the next connect. */
function backIn({ state, parked_for_ms, rate_limited_for_ms, next_connect_in_ms }: BackendRow): string {
  switch (state) {
    case 'parked':
      return parked_for_ms === null ? 'unparked' : span(parked_for_ms);
    case 'rate_limited':
      return span(rate_limited_for_ms);
    case 'down':
    case 'connecting':
      return next_connect_in_ms === null ? '' : briefly(next_connect_in_ms);
    case 'draining':
    case 'ready':
      return '';
    default:
      return state satisfies never;
  }
}

/** @param most calls, one at least */
export function callLines(calls: readonly RecentCall[], state: TopState, most: number, look: Look): string[] {
  const { paint, size } = look;
  const kind = state.all ? 'CALLS' : 'CALLS that failed or took more than one attempt';
  const filter = state.filter === '' ? '' : ` with ${JSON.stringify(state.filter)}`;
  const title = paint('strong', clip(`${kind}${filter}, newest first`, size.columns));
  if (calls.length === 0) return [title, paint('quiet', 'none')];
  const chosen = indexOf(calls, state.chosen);
  // The chosen one is always seen.
  const first = Math.max(0, Math.min(chosen - most + 1, calls.length - most));
  const rows = calls.slice(first, first + most);
  return [title, ...rows.map((call, index) => callLine(call, size.rows !== null && first + index === chosen, look))];
}

/** Columns of a call's line beside its bar and its end. */
const timeWidth = 8;
const tookWidth = 8;

function callLine(call: RecentCall, chosen: boolean, look: Look): string {
  const { paint, size } = look;
  const { columns } = size;
  const methodWidth = Math.max(14, Math.min(32, Math.floor(columns * 0.25)));
  const bar = Math.max(8, Math.min(40, Math.floor(columns * 0.2)));
  const method = clip(shortMethod(legible(call.method)), methodWidth).padEnd(methodWidth);
  const took = briefly(call.ms).padStart(tookWidth);
  const head = `${look.timeOfDay(call.started)} ${method}`;
  const used = timeWidth + 1 + methodWidth + 2 + bar + 1 + tookWidth + 1;
  const end = endWords(call, Math.max(8, columns - used));
  const tone: Tone = call.code === 'OK' ? 'good' : 'bad';
  return `${chosen ? paint('chosen', head) : head} │${drawLine(call, bar, paint)}│${took} ${paint(tone, end)}`;
}

/** What went on in a few words: of a failure the reason says more than the status, which comes after it where it fits. */
function endWords({ code, reason, attempts, hedges }: RecentCall, room: number): string {
  if (code !== 'OK') {
    const both = `${reason} ${code}`;
    return both.length <= room ? both : clip(reason, room);
  }
  const won = attempts.some(({ cause, result }) => cause === 'hedge' && result === 'ok');
  if (hedges > 0) return won ? 'OK by a hedge' : 'OK, hedged';
  return attempts.length > 1 ? `OK at attempt ${attempts.length}` : 'OK';
}

/** Of the chosen call: which backends, why it ended so, what helps and where more is told. */
export function detailLines(call: RecentCall | undefined, { paint, size, source }: Look): string[] {
  if (call === undefined) return [];
  const { code, why, remedy, help, attempts } = call;
  const path = attempts.map(
    (attempt) => `${attempt.backend ?? 'nowhere'} ${attempt.result === 'failed' ? attempt.code : attempt.result}`,
  );
  const lines = [paint('quiet', clip(legible(`${call.call}: ${path.join(', ')}`), size.columns))];
  if (code === 'OK') return lines;
  // A unix socket has no address that a browser opens.
  const more = source.startsWith('unix:') ? help : `http://${source}${help}`;
  const text = `${why}${remedy === null ? '' : ` → ${remedy}`} (${more})`;
  return [...lines, ...wrap(legible(text), size.columns).slice(0, 3)];
}
