import { decodeMessage } from '../grpc/percent.js';
import { noPushback } from '../grpc/pushback.js';
import { Status } from '../grpc/status.js';
import type { Attempt } from './attempt.js';
import type { AttemptRecord } from './observer.js';

/** What is told of one attempt when its call has ended. @param told the attempt whose end the client was told; null: none's */
export function recordOf(attempt: Attempt, told: Attempt | null): AttemptRecord {
  const { end } = attempt;
  return {
    backend: attempt.backend?.id ?? null,
    cause: attempt.cause,
    startedAt: attempt.startedAt,
    sentAt: attempt.dispatched > 0 ? attempt.sentAt : null,
    endedAt: attempt.endedAt,
    previous: attempt.previous,
    trigger: attempt.trigger,
    pushback: end?.pushback ?? noPushback,
    told: attempt === told,
    result: resultOf(attempt),
    code: end?.code ?? Status.CANCELLED,
    message: decodeMessage(end?.message ?? ''),
  };
}

function resultOf({ end, backend }: Attempt): AttemptRecord['result'] {
  if (end === null) return 'cancelled';
  if (end.code === Status.OK) return 'ok';
  // Waited in a queue and never got a stream.
  const placeless = end.reach === 'unsent' && backend === null;
  if (placeless || end.reach === 'unplaced' || end.reach === 'dropped') return 'unplaced';
  return end.by === 'loss' ? 'lost' : 'failed';
}
