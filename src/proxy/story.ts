import type { Attempt } from './attempt.js';
import type { Story } from './notes.js';

/*
 * What a call's attempts add up to, for its trailers and its record.
 */

/** Policy attempts beyond the first: hedges that lost and attempts that found no backend count, transparent ones do not. */
export function retriesOf(attempts: readonly Attempt[]): number {
  let count = 0;
  for (const { cause } of attempts) if (cause === 'retry' || cause === 'hedge') count += 1;
  return count;
}

/** Whether an application may have seen the call: not where each attempt was proven never to have reached one. */
export function processedBy(attempts: readonly Attempt[]): 'no' | 'unknown' {
  return attempts.some(mayHaveReached) ? 'unknown' : 'no';
}

function mayHaveReached({ dispatched, end }: Attempt): boolean {
  if (dispatched === 0) return false;
  // Cancelled by us: nobody knows how far it got.
  return end === null || (end.reach !== 'refused' && end.reach !== 'unsent');
}

/**
 * @param told the attempt whose end the client is told; null where the end is the proxy's own
 * @param backend see Story
 */
export function storyOf(
  attempts: readonly Attempt[],
  told: Attempt | null,
  backend: string | null,
  failure: Story['failure'],
): Story {
  // One that waited for its place may have been sent after those that were started later (KEY-03).
  const sent = attempts.filter(isDispatched).sort((a, b) => a.dispatched - b.dispatched);
  // The one that answered goes last, even where it was sent before others.
  const ordered = told !== null && sent.includes(told) ? [...sent.filter((attempt) => attempt !== told), told] : sent;
  return {
    backend,
    retries: retriesOf(attempts),
    backends: ordered.length < 2 ? [] : ordered.map((attempt) => attempt.backend?.name ?? ''),
    hedged: sent.some(({ hedge }) => hedge),
    failure,
  };
}

/** Its HEADERS went out, as far as is known. */
function isDispatched({ dispatched, end }: Attempt): boolean {
  return dispatched > 0 && end?.reach !== 'unsent';
}
