/** What was done to the backends and what /backends said of them, in order of time. */

/** @typedef {import('./checks.d.mts').FaultRecord} Fault */
/** @typedef {ReturnType<typeof createHistory>} History */

/** When after its beginning a fault must be seen in the backend's state (ms). */
const seenAfter = 10_000;
/** What is not steady right after a fault: a lost connection noticed, another made (ms). */
const settling = 2000;
/** Within which a backend whose fault is over has a connection again: the longest wait between connects and its spread, and a connect (ms). */
const reconnect = 5000 * 1.2 + 2000 + 1000;

/** `--session-lost-after`, less what two looks leave in doubt (ms). */
const lostAfter = 60_000 - 1000;

const isDown = (state) => state !== 'ready';

/** @param {import('./checks.d.mts').Evidence} evidence */
export function createHistory({ calls, faults, looks, stalls, end }) {
  const stateOf = (look, name) => look.states.find((row) => row.name === name);
  const faultsOf = (name) => faults.filter(({ backend }) => backend === name);
  /** Of the time between, how much the machine took away (ms). */
  const stalled = (from, to) =>
    stalls.reduce((sum, stall) => sum + Math.max(0, Math.min(stall.to, to ?? end) - Math.max(stall.from, from)), 0);

  /** When the backend was itself again after a fault: seen ready, later than things take to settle. */
  function recovered(fault) {
    if (fault.ended === null) return Number.POSITIVE_INFINITY;
    const look = looks.find(({ at, states }) => {
      const row = states.find(({ name }) => name === fault.backend);
      return at >= fault.ended + settling && row?.state === 'ready';
    });
    return look?.at ?? Number.POSITIVE_INFINITY;
  }
  const troubles = faults.map((fault) => ({ ...fault, until: recovered(fault) }));

  return {
    stalled,

    /** Whether the backend was under a fault or not yet well after one at some time between. */
    excused: (name, from, to, kinds = null) =>
      troubles.some(
        ({ backend, kind, began, until }) =>
          backend === name && (kinds === null || kinds.includes(kind)) && began <= (to ?? end) && until >= from,
      ),

    /** Whether the backend went away for good at some time between, or for too long (D15): its sessions are lost then. */
    left: (name, from, to) =>
      faults.some(
        ({ backend, kind, began, ended }) =>
          backend === name &&
          ['leave', 'break', 'drain', 'return', 'move', 'unlist'].includes(kind) &&
          began <= (to ?? end) &&
          (ended ?? end) >= (from ?? 0),
      ) || longestAway(name, from ?? 0, to ?? end) > lostAfter,

    /** Calls that stood on a backend, by pin or commit, while a fault of these kinds lasted. */
    callsOn(kinds) {
      return faults
        .filter(({ kind }) => kinds.includes(kind))
        .flatMap((fault) =>
          calls
            .filter((call) => {
              const over = fault.ended ?? end;
              const committed = call.headersAt !== null && call.headersAt < Math.max(over, fault.began + 1);
              const on = call.pin ?? (committed ? call.backend : null);
              if (on !== fault.backend || (call.ended ?? end) <= fault.began) return false;
              // Whoever is declared lost may have a new connection at once.
              if (fault.kind === 'lost') return call.headersAt !== null && call.headersAt < fault.began;
              return call.begun < over;
            })
            .map((call) => ({ call, fault })),
        );
    },

    /** @returns {import('./checks.d.mts').CheckResult[]} */
    checkStates(zero, leeway) {
      const when = (at) => `${((at - zero) / 1000).toFixed(3)} s`;
      const seen = { name: '10 s after a fault began its backend is parked or down', checked: 0, failures: [] };
      for (const fault of faults) {
        if (!['kill', 'pause', 'cut'].includes(fault.kind)) continue;
        const due = fault.began + seenAfter + stalled(fault.began, fault.began + seenAfter);
        for (const look of looks) {
          if (look.at < due + leeway || look.at > (fault.ended ?? end) - leeway) continue;
          seen.checked += 1;
          const state = stateOf(look, fault.backend)?.state;
          if (state === 'ready' || state === undefined)
            seen.failures.push(
              `${fault.backend} is ${state} at ${when(look.at)}, ${fault.kind} since ${when(fault.began)}`,
            );
        }
      }
      const well = { name: 'no backend without a fault is parked or down', checked: 0, failures: [] };
      for (const look of looks) {
        for (const { name, state } of look.states) {
          const near = troubles.some(
            ({ backend, began, until }) => backend === name && began <= look.at && until >= look.at,
          );
          if (near) continue;
          well.checked += 1;
          if (isDown(state)) well.failures.push(`${name} is ${state} at ${when(look.at)}`);
        }
      }
      const back = { name: 'after a fault a backend has a connection again', checked: 0, failures: [] };
      const freed = { name: 'no backend stays parked once its park ran out and it answered', checked: 0, failures: [] };
      for (const fault of faults) {
        if (fault.ended === null) continue;
        const next = faultsOf(fault.backend).find(({ began }) => began > fault.began)?.began ?? end;
        const due = fault.ended + reconnect + stalled(fault.ended, fault.ended + reconnect);
        for (const look of looks) {
          if (look.at < due || look.at >= next) continue;
          back.checked += 1;
          const state = stateOf(look, fault.backend)?.state;
          if (state === 'down' || state === 'connecting')
            back.failures.push(
              `${fault.backend} is ${state} at ${when(look.at)}, ${fault.kind} ended ${when(fault.ended)}`,
            );
        }
        freed.checked += 1;
        freed.failures.push(...stayParked(fault, next).map((at) => `${fault.backend} is still parked at ${when(at)}`));
      }
      return [seen, well, back, freed];
    },
  };

  /** The longest time between in which no look saw the backend ready (ms). */
  function longestAway(name, from, to) {
    let since = null;
    let longest = 0;
    for (const look of looks) {
      if (look.at < from || look.at > to) continue;
      if (stateOf(look, name)?.state === 'ready') since = null;
      else {
        since ??= look.at;
        longest = Math.max(longest, look.at - since);
      }
    }
    return longest;
  }

  /** Looks at which the backend is parked though its park had run out and a call that began after was answered OK by it. */
  function stayParked(fault, next) {
    const answers = calls.filter(({ backend, code }) => backend === fault.backend && code === 0);
    let runsOut = Number.NEGATIVE_INFINITY;
    const found = [];
    for (const look of looks) {
      if (look.at < fault.ended || look.at >= next) continue;
      const row = stateOf(look, fault.backend);
      if (row?.state !== 'parked') {
        runsOut = Number.NEGATIVE_INFINITY;
        continue;
      }
      // A probe that failed parks it again, for longer.
      const left = row.parkedForMs ?? Number.POSITIVE_INFINITY;
      if (left > 0 || runsOut === Number.NEGATIVE_INFINITY) runsOut = look.at + left;
      if (answers.some(({ begun, ended }) => begun >= runsOut && ended !== null && ended + 1000 < look.at))
        found.push(look.at);
    }
    return found;
  }
}
