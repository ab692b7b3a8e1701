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
    render: () => '',
  };
}
