import type { SessionOutcome, SessionStats } from '../balance/sessions.js';

/**
 * What one process would tell of the same sessions. The primary counts what becomes of them, a worker each call that is given
 * a session's backend, as `used`: those are added up. The calls are those of the workers, as the primary has one hold for each
 * worker that has any.
 *
 * @param primary of the book
 * @param workers of their copies; of one that is gone what it told last may be among them for its `used`, with 0 calls
 */
export function mergeSessionStats(primary: SessionStats, workers: readonly SessionStats[]): SessionStats {
  const outcomes: Record<SessionOutcome, number> = { ...primary.outcomes };
  let calls = 0;
  for (const one of workers) {
    calls += one.calls;
    for (const outcome of Object.keys(outcomes) as SessionOutcome[]) outcomes[outcome] += one.outcomes[outcome];
  }
  return { size: primary.size, calls, outcomes };
}
