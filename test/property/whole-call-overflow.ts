import type { RunScript } from '../support/call-script.js';
import { type CallFacts, endOf, type Moment, type StreamFacts } from './whole-call-facts.js';

/**
 * A6, Commit (b): the byte over the limit commits the call. One attempt survives, the one that was sent most, of equals the
 * earliest (D25), and none follows but a repeat of one that never left. Reckoned where the call's own limit is the only one in reach.
 */
export function brokenOverflow(facts: CallFacts, script: RunScript, complain: (what: string) => void): void {
  const { limits } = script;
  if (limits.client < 1_000_000 || limits.total < 1_000_000) return;
  const over = crossing(facts, limits.call);
  if (over === null) return;
  const live = facts.streams.filter((stream) => isLive(stream, over));
  const headers = facts.streams.some((stream) => stream.headers !== null && stream.headers.index < over.index);
  const end = endOf(facts);
  if (headers || (end !== null && end.index < over.index)) return;
  const survivors = live.filter(
    ({ dropped }) => dropped === null || dropped.at > over.at || dropped.index > next(facts, over),
  );
  const later = facts.streams.filter(({ opened }) => opened.index > over.index);
  const repeats = facts.streams.filter(({ end: ended }) => ended?.proof === 'unsent').length;
  // One that waited for its place may be the survivor: of equals the earliest, wherever it is.
  if (later.length > repeats + (survivors.length === 0 ? 1 : 0))
    complain('an attempt was opened after the buffer was full');
  if (live.length === 0 || end?.at === over.at) return;
  if (survivors.length > 1) complain(`${survivors.length} attempts survive the full buffer`);
  const [survivor] = survivors;
  if (survivor === undefined) return;
  const most = Math.max(...live.map((stream) => sentBy(stream, over)));
  const best = live.find((stream) => sentBy(stream, over) === most);
  if (best !== undefined && best !== survivor && sentBy(survivor, over) < most)
    complain(`attempt ${survivor.number} survives, ${best.number} was sent more`);
}

/** The log's first entry about the call's request after `moment`. */
function next({ requestBytes }: CallFacts, moment: Moment): number {
  return requestBytes.find(({ index }) => index > moment.index)?.index ?? Number.POSITIVE_INFINITY;
}

/** When the first byte over the limit came. */
function crossing({ requestBytes }: CallFacts, limit: number): Moment | null {
  let sum = 0;
  for (const piece of requestBytes) {
    sum += piece.bytes;
    if (sum > limit) return piece;
  }
  return null;
}

function isLive({ opened, end, dropped }: StreamFacts, { index }: Moment): boolean {
  const over = Math.min(end?.index ?? Number.POSITIVE_INFINITY, dropped?.index ?? Number.POSITIVE_INFINITY);
  return opened.index < index && index < over;
}

function sentBy({ requestSent }: StreamFacts, { index }: Moment): number {
  return requestSent.reduce((sum, piece) => (piece.index < index ? sum + piece.bytes : sum), 0);
}
