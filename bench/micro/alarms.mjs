/** The alarms (a heap where others have a timer wheel): set and cancelled, or rung. `node bench/micro/alarms.mjs [DIST]`. */
import { fromBuild, measure } from './measure.mjs';

const { createAlarmQueue } = await fromBuild('runtime/alarm-queue.js');

const ring = () => {};

/** Deadlines of calls that end in time, `open` of them at once. @param {number} open */
function deadlines(open) {
  const queue = createAlarmQueue();
  let now = 0;
  const set = () => {
    now += 0.01;
    return queue.set(now + 60_000, ring);
  };
  const handles = Array.from({ length: open }, set);
  let next = 0;
  return (/** @type {number} */ alarms) => {
    for (let i = 0; i < alarms; i += 1) {
      const handle = handles[next];
      if (handle !== undefined) queue.cancel(handle);
      handles[next] = set();
      next = (next + 1) % open;
    }
  };
}

/** Backoffs of many lengths, each rung. @param {number} open */
function backoffs(open) {
  const queue = createAlarmQueue();
  let now = 0;
  let seed = 1;
  const delay = () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % 1000;
  };
  let due = 0;
  const again = () => {
    due += 1;
    queue.set(now + delay(), again);
  };
  for (let i = 0; i < open; i += 1) queue.set(delay(), again);
  return (/** @type {number} */ alarms) => {
    for (const until = due + alarms; due < until; ) {
      now = queue.next;
      queue.ringDue(now);
    }
  };
}

measure('Alarms, one', [
  { name: 'set and cancelled, 100 pending', run: deadlines(100) },
  { name: 'set and cancelled, 10 000 pending', run: deadlines(10_000) },
  { name: 'set and rung, 100 pending', run: backoffs(100) },
  { name: 'set and rung, 10 000 pending', run: backoffs(10_000) },
]);
