/** The call machine: a whole call, from `started` to `finish`. `node bench/micro/call-machine.mjs [DIST]`. */
import { fromBuild, measure } from './measure.mjs';

const { createCall } = await fromBuild('policy/call-state.js');
const { transition } = await fromBuild('policy/call.js');

const options = { maxTransparent: 1000 };
const plans = {
  none: { kind: 'none' },
  retry: {
    kind: 'retry',
    maxAttempts: 4,
    initialBackoff: 100,
    maxBackoff: 1000,
    multiplier: 2,
    retryable: new Set([14]),
  },
  hedge: { kind: 'hedge', maxAttempts: 3, delay: 20, nonFatal: new Set([14]) },
};
const started = { type: 'started', deadlineAt: 60_000, placement: { kind: 'any' }, policy: 'on' };
const woke = { type: 'woke' };
const none = { kind: 'none' };
const random = () => 0.5;
const throttled = () => false;

/** @param {number} attempt */
const placed = (attempt) => ({ type: 'attemptPlaced', attempt, backend: `b${attempt}` });
/** @param {number} attempt */
const headers = (attempt) => ({ type: 'headersReceived', attempt });
/** @param {number} attempt @param {number} code */
const ended = (attempt, code) => ({
  type: 'attemptEnded',
  attempt,
  code,
  reach: 'processed',
  pushback: none,
  by: 'backend',
});

/** An event and when it comes (ms). @typedef {[object, number]} Moment */

/** @type {Moment[]} */
const success = [
  [started, 0],
  [placed(1), 0],
  [headers(1), 5],
  [ended(1, 0), 5],
];
/** @type {Moment[]} */
const retried = [
  [started, 0],
  [placed(1), 0],
  [ended(1, 14), 5],
  [woke, 1000],
  [placed(2), 1000],
  [headers(2), 1005],
  [ended(2, 0), 1005],
];
/** @type {Moment[]} */
const hedged = [
  [started, 0],
  [placed(1), 0],
  [woke, 20],
  [placed(2), 20],
  [headers(2), 25],
  [ended(2, 0), 25],
];

/** @param {object} plan @param {Moment[]} moments @param {number} calls */
function play(plan, moments, calls) {
  for (let i = 0; i < calls; i += 1) {
    const state = createCall(plan, options);
    for (const [event, now] of moments) transition(state, event, { now, random, throttled });
    if (state.phase !== 'over') throw new Error(`the call is ${state.phase}`);
  }
}

measure('The call machine, a call', [
  { name: 'no policy, OK', run: (calls) => play(plans.none, success, calls) },
  { name: 'retry policy, OK', run: (calls) => play(plans.retry, success, calls) },
  { name: 'retry policy, UNAVAILABLE, then OK', run: (calls) => play(plans.retry, retried, calls) },
  { name: 'hedging policy, the hedge answers', run: (calls) => play(plans.hedge, hedged, calls) },
]);
