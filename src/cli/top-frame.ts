import { headline } from '../admin/live-math.js';
import { legible } from '../grpc/legible.js';
import { clip, type Tone, wrap } from '../text/paint.js';
import { span } from '../text/words.js';
import { figureLines } from './top-figures.js';
import type { Look } from './top-look.js';
import { indexOf, type Link, listed, type Shown, shownOf, type TopState } from './top-state.js';
import { backendLines, callLines, detailLines } from './top-tables.js';

/** The least that makes sense (columns); in fewer, lines are cut by the terminal. */
const leastColumns = 72;
/** Calls that are listed where there is no terminal. */
const plainCalls = 10;

/**
 * The screen as lines, none wider than the terminal and no more than it has rows: how things are in one sentence, the figures
 * of the last seconds, backends, the latest calls, and of one of them why it ended so and what helps.
 */
export function drawFrame(state: TopState, look: Look): string[] {
  const columns = Math.max(leastColumns, look.size.columns);
  const at: Look = { ...look, size: { ...look.size, columns } };
  const shown = shownOf(state);
  const { rows } = look.size;
  const foot = rows === null ? [] : [footLine(state, at)];
  if (shown === null) {
    const head = [at.paint('strong', clip(`hedgerow top  ${at.source}`, columns)), '', ...linkLines(state.link, at)];
    return rows === null ? head : fill(head, foot, rows);
  }
  const head = [...headLines(shown, state, at), '', ...figureLines(shown, at), ''];
  const calls = listed(state, shown.calls);
  if (rows === null) {
    return [
      ...head,
      ...backendLines(shown.snapshot.backends, shown.snapshot.backends.length, at),
      '',
      ...callLines(calls, state, plainCalls, at),
    ];
  }
  const room = rows - head.length - foot.length;
  // Of what is left, calls want half, and their heading and detail.
  const backends = backendLines(shown.snapshot.backends, Math.max(1, Math.floor(room / 2) - 2), at);
  const detail = detailLines(calls[indexOf(calls, state.chosen)], at);
  const left = room - backends.length - 1 - detail.length - 1;
  return fill(
    [...head, ...backends, '', ...callLines(calls, state, Math.max(1, left), at)],
    [...detail, ...foot],
    rows,
  );
}

/** The foot stands at the bottom; where rows are missing, what is above it is cut. */
function fill(lines: readonly string[], foot: readonly string[], rows: number): string[] {
  const room = Math.max(0, rows - foot.length);
  const above = lines.slice(0, room);
  return [...above, ...new Array<string>(room - above.length).fill(''), ...foot].slice(0, rows);
}

function headLines({ snapshot, previous }: Shown, state: TopState, look: Look): string[] {
  const { paint, size } = look;
  const left = `hedgerow ${legible(snapshot.version)}  ${look.source}`;
  const right = `up ${span(snapshot.uptime_ms)}  ${look.timeOfDay(snapshot.at)}`;
  const room = size.columns - right.length - 2;
  const { level, text } = headline(snapshot, previous);
  const tone: Tone = level === 'ok' ? 'good' : level;
  const sign = level === 'ok' ? '●' : level === 'warn' ? '▲' : '■';
  return [
    `${paint('strong', clip(left, room))}${' '.repeat(2 + Math.max(0, room - left.length))}${right}`,
    ...linkLines(state.link, look),
    ...wrap(legible(text), size.columns - 2).map((line, index) => paint(tone, `${index === 0 ? sign : ' '} ${line}`)),
  ];
}

/** Nothing while all is well. */
function linkLines(link: Link, { paint, size, source, now }: Look): string[] {
  if (link.kind === 'up') return [];
  if (link.kind === 'waiting') return [paint('quiet', `asking ${source} …`)];
  const text = `${legible(link.why)}; trying again, for ${span(now - link.since)} now`;
  return wrap(text, size.columns - 2).map((line, index) => paint('bad', `${index === 0 ? '✕' : ' '} ${line}`));
}

function footLine(state: TopState, { paint, size }: Look): string {
  if (state.typing !== null) return clip(`/${state.typing}▏ Enter: show only these calls, Esc: leave it`, size.columns);
  const paused = state.paused === null ? '' : `${paint('warn', 'PAUSED')} `;
  const keys = `q quit  p ${state.paused === null ? 'pause' : 'go on'}  j k choose  / filter  a ${state.all ? 'notable' : 'all'} calls`;
  const more = state.filter === '' ? '' : '  Esc clear';
  return `${paused}${paint('quiet', clip(keys + more, size.columns - (paused === '' ? 0 : 7)))}`;
}
