import {
  type CallFacts,
  endOf,
  type Moment,
  recordOf,
  type StreamEnding,
  type StreamFacts,
} from './whole-call-facts.js';

/** The end of an attempt as its call came to know of it. */
export interface SeenEnd extends Moment {
  readonly stream: StreamFacts;
  readonly end: StreamEnding;
  /** The attempt was started again at once, uncounted (A6, Transparent retries). */
  readonly repeated: boolean;
}

/** The ends that a call heard before its own, in order. What was cancelled before is none. */
export function endsSeen(facts: CallFacts): SeenEnd[] {
  const over = endOf(facts);
  const list: SeenEnd[] = [];
  let refusals = 0;
  const inOrder = facts.streams
    .flatMap((stream) => {
      const seen = whenSeen(facts, stream);
      return stream.end === null || seen === null ? [] : [{ stream, end: stream.end, seen }];
    })
    .sort((a, b) => a.seen.index - b.seen.index);
  for (const { stream, end, seen } of inOrder) {
    if (over !== null && over.index < seen.index) continue;
    const { at, index } = seen;
    const repeated = at < facts.deadline && end.proof !== 'none' && isRepeated(facts, stream, at, refusals);
    if (repeated && end.proof === 'refused') refusals += 1;
    list.push({ at, index, stream, end, repeated });
  }
  return list;
}

/** A6, Transparent retries: at once for what never left, one time for what was refused, unless response headers came. */
function isRepeated(facts: CallFacts, { end, headers }: StreamFacts, at: number, refusals: number): boolean {
  const record = recordOf(facts);
  if (headers !== null || (end?.proof === 'refused' && refusals > 0)) return false;
  // Whether a buffer had committed the call by then shows in nothing but what followed.
  const attempts = record?.attempts ?? [];
  if (end?.proof === 'refused' && record?.commit?.startsWith('buffer') === true) {
    const repeats = attempts.filter(({ cause, startedAt }) => cause === 'transparent' && startedAt === at);
    const unsent = facts.streams.filter(({ end: other }) => other?.proof === 'unsent' && other.at === at);
    return repeats.length > unsent.length;
  }
  return true;
}

/** An end is seen when the client's engine has taken all of the answer before it; null: never. */
function whenSeen({ told, toldBytes }: CallFacts, { end, dropped, answerBytes, headers }: StreamFacts): Moment | null {
  if (end === null || (dropped !== null && dropped.index < end.index)) return null;
  if (headers === null || told.length === 0) return end;
  const owed = answerBytes.reduce((sum, { bytes, index }) => (index < end.index ? sum + bytes : sum), 0);
  let taken = 0;
  if (owed === 0) return end;
  for (const piece of toldBytes) {
    taken += piece.bytes;
    if (taken >= owed) return piece.index > end.index ? piece : end;
  }
  return null;
}
