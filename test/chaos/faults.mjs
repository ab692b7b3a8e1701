/** What is done to the backends of the chaos: drawn beforehand from a seed, so that a run can be had again. */

/** @typedef {'kill' | 'pause' | 'cut' | 'slow' | 'drain' | 'lost' | 'leave' | 'break' | 'return' | 'move' | 'unlist'} FaultKind */
/** @typedef {{ at: number, backend: number, kind: FaultKind, lasts: number }} PlannedFault times in ms from the start */

/** How long one lasts (ms): short ones must hardly be felt, long ones must be seen in the backend's state. */
const lengths = {
  kill: [300, 15_000],
  pause: [300, 15_000],
  cut: [300, 15_000],
  slow: [3000, 10_000],
  drain: [2000, 8000],
  lost: [0, 0],
  leave: [1000, 10_000],
  break: [500, 10_000],
  return: [0, 0],
  move: [0, 0],
  unlist: [2000, 10_000],
};
/** At any time no more backends are in trouble than this, so that every call has somewhere to go. */
const together = 2;
/** What a backend is left alone after a fault (ms). */
const rest = 4000;
/** What only befalls a backend that registers itself. @type {ReadonlySet<FaultKind>} */
const ofRegistered = new Set(['leave', 'break', 'return', 'move']);
/** At the end nothing begins any more, so that every recovery is seen (ms). */
const quiet = 20_000;
/** One in so many lasts long enough for its state to be looked at 10 s after it began. */
const longOnes = 3;
const long = [12_000, 16_000];

/**
 * @param {() => number} random
 * @param {number} whole ms
 * @param {number} backends
 * @param {readonly FaultKind[]} kinds
 * @param {number} registered how many of them, the last ones, register themselves
 * @param {number} listed which one stands in the endpoints file; -1: none
 * @returns {PlannedFault[]} in order of time
 */
export function drawFaults(random, whole, backends, kinds, registered, listed) {
  /** @type {PlannedFault[]} */
  const faults = [];
  const between = (low, high) => low + random() * (high - low);
  /** @type {FaultKind[]} */
  let bag = [];
  for (let at = between(500, 2000); at < whole - quiet; at += between(300, 3000)) {
    const inTrouble = faults.filter((fault) => fault.at + fault.lasts + rest > at);
    if (inTrouble.length >= together) continue;
    // Each kind once before any comes again, so that a short run has them all.
    if (bag.length === 0) bag = [...kinds];
    const [kind] = bag.splice(Math.floor(random() * bag.length), 1);
    const first = ofRegistered.has(kind) ? backends - registered : 0;
    const free = Array.from({ length: backends }, (_, i) => i).filter(
      (i) => (kind === 'unlist' ? i === listed : i >= first) && !inTrouble.some(({ backend }) => backend === i),
    );
    const backend = free[Math.floor(random() * free.length)];
    if (backend === undefined) continue;
    const silent = kind === 'kill' || kind === 'pause' || kind === 'cut';
    const [low, high] = silent && random() < 1 / longOnes ? long : lengths[kind];
    const lasts = between(low, high);
    faults.push({ at, backend, kind, lasts: Math.min(lasts, whole - quiet + 5000 - at) });
  }
  return faults;
}
