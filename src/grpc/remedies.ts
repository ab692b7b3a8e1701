import type { StopReason } from './stop-reason.js';

/** Where more is told of calls that ended so: what it means, causes, how to tell them apart, and what to do. */
export function helpFor(reason: StopReason): string {
  return `docs/troubleshooting.md#${reason}`;
}

/** What whoever is not content with this end can do, in a few words; null: nothing is wrong. */
export function remedyFor(reason: StopReason): string | null {
  switch (reason) {
    case 'ok':
    case 'client_cancelled':
      return null;
    case 'fatal_status':
      return 'list the code only if another attempt may end otherwise and does no harm';
    case 'no_policy':
      return 'give the method a policy, if running it twice does no harm';
    case 'attempts_exhausted':
      return 'look at the backends; more attempts help only where failures are brief';
    case 'throttled':
      return 'heal the backends: successes fill the bucket by themselves';
    case 'pushback':
      return 'ask the backend: it knows that trying again is of no use';
    case 'buffer_exceeded':
      return 'send less in one call, or raise --per-call-buffer-limit';
    case 'backoff_beyond_deadline':
      return 'give the call more time, or begin with a shorter backoff';
    case 'deadline_exceeded':
      return 'give the call more time, or hedge a method that is slow now and then';
    case 'no_backend':
      return 'start a backend, or look at /backends for why none can be reached';
    case 'pinned':
      return 'send hedgerow-allow-retry: true, if another backend will do';
    case 'pin_unknown':
      return 'name a backend that /backends lists';
    case 'pinned_backend_unavailable':
      return 'send hedgerow-allow-retry: true, or bring that backend up';
    case 'pinned_backend_busy':
      return 'send hedgerow-allow-retry: true, or try again later';
    case 'session_lost':
      return 'begin a new session';
    case 'backend_lost':
      return 'repeat the call, if running it twice does no harm';
    case 'invalid_directive':
      return 'put the key right that the message names';
    case 'malformed_request':
      return 'put right in the client what the message names';
    case 'message_too_large':
      return 'send less in one message, or raise the limit';
    case 'headers_too_large':
      return 'send less metadata, or raise --max-header-list-size';
    case 'overloaded':
      return 'add backends, or raise --queue-limit';
    case 'drain_timeout':
      return 'repeat the call; --drain-timeout is how long the proxy waits';
    case 'committed':
      return 'repeat the call in the client, which knows what it has read';
    case 'internal':
      return 'report it, with the line of the log that has the call’s id';
    default:
      return reason satisfies never;
  }
}
