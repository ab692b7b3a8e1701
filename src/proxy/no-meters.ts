import type { LiveHistogram, LiveNumbers } from './live-numbers.js';
import type { Meters } from './meters.js';

/** Counts nothing: for who asks for no metrics. */
export function createNoMeters(): Meters {
  return {
    method: () => 0,
    attemptStarted() {},
    attemptEnded() {},
    callEnded() {},
    committed() {},
    callRefused() {},
    throttled() {},
    clientConnected() {},
    clientRefused() {},
    backendChanged() {},
    healthChanged() {},
    lost() {},
    resolved() {},
    reloaded() {},
    live: () => nothing,
    render: () => [],
  };
}

const empty: LiveHistogram = { bounds_ms: [], counts: [0] };
const nothing: LiveNumbers = {
  version: '',
  calls: { ended: 0, ok: 0, cancelled: 0, saved: 0, retried: 0, hedged: 0, hedges_won: 0 },
  codes: {},
  reasons: {},
  attempts: [0],
  latency: { calls: empty, first_ended: empty, first_cut: empty },
  methods: [],
};
