import { statusName } from '../grpc/status.js';
import type { CallRecord } from '../proxy/observer.js';
import { count } from './paint.js';

/** Why the call ended as it did and no further attempt was made, for someone who has never read a service config. */
export function reasonInWords(record: CallRecord): string {
  const { attempts, reason, retries } = record;
  const status = statusName(record.code);
  switch (reason) {
    case 'ok':
      return retries === 0 ? 'answered at the first attempt' : hiddenInWords(record);
    case 'fatal_status':
      return `${status} is not in the policy’s retryableStatusCodes: the client gets it at once`;
    case 'no_policy':
      return 'the method has no retry policy: the client gets what the first attempt gave';
    case 'attempts_exhausted':
      return `all ${count(attempts.length, 'attempt')} that the policy permits failed`;
    case 'throttled':
      return 'too many calls fail just now: the retry throttle is shut';
    case 'pushback':
      return 'the backend said not to try again';
    case 'buffer_exceeded':
      return 'the request outgrew the replay buffer, so it could not be sent again';
    case 'backoff_beyond_deadline':
      return 'the wait before the next attempt would have ended after the deadline';
    case 'deadline_exceeded':
      return 'the client’s deadline passed';
    case 'client_cancelled':
      return 'the client cancelled the call';
    case 'no_backend':
      return 'no backend could be reached';
    case 'pinned':
    case 'pin_unknown':
    case 'pinned_backend_unavailable':
    case 'pinned_backend_busy':
      return 'the client asked for this one backend';
    case 'session_lost':
      return 'the backend of the client’s session is gone';
    case 'backend_lost':
      return 'the connection to the backend was lost after its answer had begun';
    case 'invalid_directive':
      return 'the client’s hedgerow metadata is not valid';
    case 'malformed_request':
      return 'the request breaks gRPC’s rules';
    case 'message_too_large':
      return 'a message is larger than permitted';
    case 'headers_too_large':
      return 'the metadata is larger than permitted';
    case 'overloaded':
      return 'every backend’s queue is full';
    case 'drain_timeout':
      return 'the proxy shut down';
    case 'committed':
      return 'the answer had begun to reach the client: too late for another attempt';
    case 'internal':
      return 'a defect of the proxy';
    default:
      return reason satisfies never;
  }
}

function hiddenInWords({ retries, replayPeak }: CallRecord): string {
  const kept = replayPeak === 0 ? '' : `; ${count(replayPeak, 'request byte')} had been kept and went again`;
  return `${count(retries, 'retry')}, and the client never saw a failure${kept}`;
}
