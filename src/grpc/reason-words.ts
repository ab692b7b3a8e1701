import { type StatusCode, statusName } from './status.js';
import type { StopReason } from './stop-reason.js';

/** A call's end, as far as it is told in words. */
export interface EndedCall {
  readonly reason: StopReason;
  /** The status that the client is told. */
  readonly code: StatusCode;
  /** Policy attempts, the first included. */
  readonly attempts: number;
}

/** Why the call ended as it did and no further attempt was made, for someone who has never read a service config. */
export function reasonInWords({ reason, code, attempts }: EndedCall): string {
  const status = statusName(code);
  switch (reason) {
    case 'ok':
      return 'the call was answered';
    case 'fatal_status':
      return `${status} is not among the codes that the policy tries again for: the client gets it at once`;
    case 'no_policy':
      return 'no policy applies to the call: the client gets what the first attempt gave';
    case 'attempts_exhausted':
      return attempts === 1
        ? 'the one attempt that the policy permits failed'
        : `all ${attempts} attempts that the policy permits failed`;
    case 'throttled':
      return 'too many calls fail just now: the retry throttle is shut';
    case 'pushback':
      return 'the backend said not to try again';
    case 'buffer_exceeded':
      return 'the request outgrew the replay buffer, so it could not be sent again';
    case 'backoff_beyond_deadline':
      return 'the wait before the next attempt would have ended after the deadline';
    case 'deadline_exceeded':
      return 'the deadline passed: the client’s own, or the method’s timeout';
    case 'client_cancelled':
      return 'the client cancelled the call';
    case 'no_backend':
      return 'no backend could be reached';
    case 'pinned':
      return 'the client asked for this one backend: no further attempt goes anywhere';
    case 'pin_unknown':
      return 'the client asked for a backend that is not known here';
    case 'pinned_backend_unavailable':
      return 'the one backend that the client asked for cannot be reached';
    case 'pinned_backend_busy':
      return 'the one backend that the client asked for takes no more calls';
    case 'session_lost':
      return 'the backend of the client’s session is gone';
    case 'backend_lost':
      return 'the connection to the backend was lost, and the call could not go to another';
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
      return 'its time to finish was over before it was: the proxy or the connection was ending';
    case 'committed':
      return 'the answer had begun to reach the client: too late for another attempt';
    case 'internal':
      return 'a defect of the proxy';
    default:
      return reason satisfies never;
  }
}
