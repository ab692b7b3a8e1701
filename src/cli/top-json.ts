import {
  attemptsPerCall,
  callRate,
  headline,
  type Quantile,
  quantile,
  quantileUnhedged,
  spanOf,
  successShare,
  successShareWithout,
} from '../admin/live-math.js';
import type { Shown } from './top-state.js';

/** The object of `hedgerow top --json`; docs/command-line.md tells its fields, which are only ever added to. */
export function topAsJson({ snapshot, previous, calls }: Shown): object {
  const span = spanOf(snapshot, previous);
  const { level, text } = headline(snapshot, previous);
  return {
    level,
    headline: text,
    span:
      span === null
        ? null
        : {
            seconds: span.seconds,
            since_start: previous === null,
            calls_per_second: callRate(span),
            success: successShare(span),
            success_without_retries: successShareWithout(span),
            attempts_per_call: attemptsPerCall(span),
            p50_ms: msOf(quantile(span.latency.calls, 0.5)),
            p99_ms: msOf(quantile(span.latency.calls, 0.99)),
            p99_ms_without_hedges: msOf(quantileUnhedged(span.latency, 0.99)),
            codes: span.codes,
            reasons: span.reasons,
          },
    live: snapshot,
    calls,
  };
}

/** A number; `over N` where it lies above what the histogram tells; null: nothing was counted. */
function msOf(found: Quantile): number | string | null {
  switch (found.kind) {
    case 'known':
      return found.ms;
    case 'above':
      return `over ${found.ms}`;
    case 'none':
      return null;
    default:
      return found satisfies never;
  }
}
