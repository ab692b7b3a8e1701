/** Proxies side by side, their rounds interleaved. */
import { spread } from '../figures/statistics.mjs';
import { figure } from '../figures/table.mjs';
import { closedLoop, startProxy, warmUp } from './stage.mjs';

/** @typedef {import('./stage.mjs').Running} Running @typedef {import('./stage.mjs').Round} Round */
/** @typedef {{ name: string, ours: boolean, why: string }} Absent */
/** @typedef {import('./contender.mjs').Setting} Setting */

/**
 * What a row is given.
 * @typedef {object} Bench
 * @property {boolean} smoke only that it runs is of interest
 * @property {number} rounds
 * @property {number} seconds a round, at least
 * @property {readonly import('./contender.mjs').Contender[]} contenders
 * @property {Record<string, unknown>} raw what was measured, round by round, for results.json
 * @property {number | null} haproxyRate calls/s of HAProxy, once a row has measured it
 */

/** CPU seconds of a round, at least; below, the clock ticks of the accounting show. */
const leastCpu = 2;

/**
 * Starts those of `keys` that are here.
 * @param {Bench} bench @param {readonly string[]} keys in this order @param {readonly number[]} backends
 * @param {Partial<Setting> & { answerBytes?: number }} changes
 * @returns {Promise<{ running: Running[], absent: Absent[], end: () => Promise<void> }>}
 */
export async function sideBySide(bench, keys, backends, changes = {}) {
  /** @type {Running[]} */
  const running = [];
  /** @type {Absent[]} */
  const absent = [];
  for (const key of keys) {
    const contender = bench.contenders.find((one) => one.key === key);
    if (contender === undefined) continue;
    const { name, ours, version, missing } = contender;
    if (version === null) absent.push({ name, ours, why: missing });
    else {
      try {
        running.push(await startProxy(contender, backends, changes));
      } catch (error) {
        // A peer that does not start here leaves its row empty; without hedgerow there is nothing to measure.
        if (ours) throw error;
        absent.push({ name, ours, why: `did not start: ${error instanceof Error ? error.message : error}` });
      }
    }
  }
  return {
    running,
    absent,
    async end() {
      for (const { process } of running) await process.end();
    },
  };
}

/**
 * @template T @param {number} rounds @param {readonly Running[]} running
 * @param {(proxy: Running, round: number) => Promise<T>} measure @returns {Promise<Map<string, T[]>>} by the proxy's name
 */
export async function interleave(rounds, running, measure) {
  /** @type {Map<string, T[]>} */
  const results = new Map(running.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1)
    for (const proxy of running) results.get(proxy.name)?.push(await measure(proxy, round));
  return results;
}

/**
 * Interleaved rounds of as many calls as go through, after one that warms up; each long enough for two CPU seconds.
 * @param {Bench} bench @param {readonly Running[]} running @param {{ connections: number, streams: number }} shape
 * @param {{ headers?: string, bytes?: number }} what
 * @returns {Promise<Map<string, Round[]>>}
 */
export async function busyRounds(bench, running, shape, what = {}, rounds = bench.rounds) {
  const seconds = new Map();
  for (const proxy of running) {
    const warm = await warmUp(proxy, { ...shape, seconds: Math.min(1, bench.seconds) }, what);
    const enough = bench.smoke ? bench.seconds : Math.max(bench.seconds, (1.1 * leastCpu) / (warm?.busy ?? 1));
    // Who hardly works has rounds with less: noted in the results.
    seconds.set(proxy.name, Math.min(enough, 3 * bench.seconds));
  }
  return interleave(rounds, running, (proxy) =>
    closedLoop(proxy, { ...shape, seconds: seconds.get(proxy.name) }, what),
  );
}

/** @template T @param {Map<string, T[]>} results @param {string} name @param {(round: T) => number} of */
export function roundsOf(results, name, of) {
  return (results.get(name) ?? []).map(of);
}

/** @template T @param {Map<string, T[]>} results @param {string} name @param {(round: T) => number} of */
export function spreadOf(results, name, of) {
  return spread(roundsOf(results, name, of));
}

/** Calls that failed, over all rounds; a note where there are any. @param {Map<string, { failed: number }[]>} results */
export function failures(results) {
  return [...results].flatMap(([name, rounds]) => {
    const failed = rounds.reduce((sum, round) => sum + round.failed, 0);
    return failed === 0 ? [] : [`${name}: ${figure(failed)} calls failed.`];
  });
}
