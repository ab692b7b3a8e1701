/** The promises of the proxy that are held against what a run of the chaos showed from outside. No clock, no input. */
import { createHistory } from './history.mjs';

/** What a time bound is widened by (ms): the way of a frame through a busy machine; measured stalls come on top. */
const leeway = 500;
/** Of plain unary calls, so many may fail. */
const plainFailures = 1 / 1000;

/** @typedef {import('./checks.d.mts').CallRecord} Call */
/** @typedef {import('./history.mjs').History} History */

/** What a report says of a call. @param {Call} call @param {number} zero the run's beginning */
export function describeCall(call, zero) {
  const seconds = (at) => (at === null ? 'never' : `${((at - zero) / 1000).toFixed(3)} s`);
  const { id, kind, begun, ended, code, reason, backend, backends, words } = call;
  const where = [
    call.pin && `pin ${call.pin}`,
    call.session && `session ${call.session}`,
    backend && `backend ${backend}`,
  ];
  const facts = [...where, backends && `backends ${backends}`, reason && `reason ${reason}`].filter(Boolean).join(', ');
  return `${id} (${kind}) ${seconds(begun)} to ${seconds(ended)}: code ${code}; ${facts}; ${words}`;
}

/**
 * @param {import('./checks.d.mts').Evidence} evidence
 * @param {import('./checks.d.mts').Limits} limits
 * @returns {import('./checks.d.mts').CheckResult[]}
 */
export function runChecks(evidence, limits) {
  const { calls, executions, faults } = evidence;
  const history = createHistory(evidence);
  const zero = calls[0]?.begun ?? 0;
  /** @type {import('./checks.d.mts').CheckResult[]} */
  const results = [];
  /** @param {string} name @param {Call[]} of @param {(call: Call) => string | null | false} fault */
  const each = (name, of, fault) => {
    const failures = [];
    for (const call of of) {
      const what = fault(call);
      if (what) failures.push(`${what}: ${describeCall(call, zero)}`);
    }
    results.push({ name, checked: of.length, failures });
  };

  each('every call has exactly one end', calls, ({ ended, ends, begun }) => {
    if (ends !== 1) return `${ends} statuses`;
    const most = limits.deadline + 1000 + history.stalled(begun, ended);
    return (ended === null || ended - begun > most) && 'later than its deadline';
  });
  each('what ends OK is answered right', calls, ({ wrong }) => wrong);

  const executedBy = groupBy(executions);
  const runsOf = ({ id }) => executedBy.get(id) ?? [];
  each(
    'no call is executed of which its client was told processed: no',
    calls.filter(({ processed }) => processed === 'no'),
    (call) => runsOf(call).length > 0 && `executed by ${runsOf(call).map(({ backend }) => backend)}`,
  );
  each('no call is executed more often than it has attempts', calls, (call) => {
    const most = call.pin === null && call.session === null ? limits.maxAttempts : 1;
    return runsOf(call).length > most && `executed ${runsOf(call).length} times`;
  });
  each(
    'a pinned call reaches its backend alone',
    calls.filter(({ pin }) => pin !== null),
    (call) => {
      const other = runsOf(call).find(({ backend }) => backend !== call.pin);
      if (other !== undefined) return `executed by ${other.backend}`;
      return call.backend !== null && call.backend !== call.pin && `answered by ${call.backend}`;
    },
  );
  results.push(checkSessions(calls, runsOf, zero));
  const stays = sessionStays(calls, runsOf);
  // Its first call may have failed before it came to anything, and told where only later.
  const homeOf = ({ session, begun }) => {
    const own = stays.get(session);
    return own?.findLast(({ at }) => at < begun) ?? own?.[0];
  };

  const bounds = [
    [
      'cut or paused',
      ['pause', 'cut'],
      limits.keepaliveTime + limits.keepaliveTimeout + 1000,
      'keepalive time + timeout + 1 s',
    ],
    // What registers itself is taken for dead when its registration breaks; who is declared lost has nothing left at once.
    ['killed or lost', ['kill', 'break', 'lost'], 1000, '1 s'],
  ];
  for (const [what, kinds, bound, words] of bounds) {
    const struck = history.callsOn(kinds);
    const failures = struck.flatMap(({ call, fault }) => {
      const from = Math.max(fault.began, call.begun);
      const due = from + bound;
      const over = fault.kind === 'lost' ? null : fault.ended;
      const until = Math.min(call.ended ?? evidence.end, over ?? evidence.end);
      const late = until - due - history.stalled(from, until);
      return late > leeway ? [`${fault.kind} ${late.toFixed(0)} ms late: ${describeCall(call, zero)}`] : [];
    });
    results.push({ name: `calls on a ${what} backend end within ${words}`, checked: struck.length, failures });
  }

  const plain = calls.filter(({ kind }) => kind === 'unary' || kind === 'hedged');
  const failed = plain.filter(({ code }) => code !== 0);
  results.push({
    name: `of plain unary calls fewer than 1 in 1000 fail (${failed.length})`,
    checked: plain.length,
    failures:
      failed.length < plain.length * plainFailures || failed.length === 0
        ? []
        : failed.map((call) => describeCall(call, zero)),
  });
  each('a plain unary call that fails tells why', failed, ({ reason }) => reason === null && 'no reason');

  // A call that no other backend may take shares the fate of its own.
  each(
    'a bound call fails only beside a fault of its backend',
    calls.filter(({ kind }) => kind !== 'unary' && kind !== 'hedged'),
    (call) => {
      if (call.code === 0 || call.code === null) return null;
      const home = call.session === null ? undefined : homeOf(call);
      const on = call.pin ?? call.backend ?? home?.backend ?? null;
      if (on === null) return 'bound to none';
      if (call.reason === 'session_lost') {
        // A call that was still under way may have taken the session elsewhere.
        const lost = /backend (\S+) is gone/.exec(call.words)?.[1] ?? on;
        return !history.left(lost, home?.at, call.ended) && `${lost} was not away`;
      }
      // Whoever leaves, or is drained, lets the calls finish that it has.
      const fatal = call.headersAt !== null ? breaking : null;
      return !history.excused(on, call.begun, call.ended, fatal) && `${on} was well`;
    },
  );

  results.push(...history.checkStates(zero, leeway));
  results.push({ name: 'faults were mounted', checked: faults.length, failures: faults.length > 0 ? [] : ['none'] });
  return results;
}

/** What breaks calls that have been answered in part. @type {readonly string[]} */
const breaking = ['kill', 'pause', 'cut', 'lost', 'break'];

function groupBy(executions) {
  const groups = new Map();
  for (const execution of executions) {
    const group = groups.get(execution.id);
    if (group === undefined) groups.set(execution.id, [execution]);
    else group.push(execution);
  }
  return groups;
}

/** Where each session was seen, by executions and by what its clients were told, in order of time. */
function sessionStays(calls, runsOf) {
  const stays = new Map();
  for (const call of calls) {
    if (call.session === null) continue;
    const own = stays.get(call.session) ?? [];
    own.push(...runsOf(call));
    // When exactly it was there the client does not know: a busy one reads late.
    if (call.backend !== null) own.push({ backend: call.backend, at: call.begun });
    stays.set(call.session, own);
  }
  for (const own of stays.values()) own.sort((a, b) => a.at - b.at);
  return stays;
}

/** A session's calls are executed by one backend until one of them was told `session_lost`. */
function checkSessions(calls, runsOf, zero) {
  const failures = [];
  const bound = calls.filter(({ session }) => session !== null).toSorted((a, b) => a.begun - b.begun);
  for (const session of new Set(bound.map((call) => call.session))) {
    const own = bound.filter((call) => call.session === session);
    const losses = own.filter(({ reason }) => reason === 'session_lost');
    const steps = own.flatMap((call) => runsOf(call).map((run) => ({ ...run, call }))).toSorted((a, b) => a.at - b.at);
    for (const [i, step] of steps.entries()) {
      const before = steps[i - 1];
      if (before === undefined || before.backend === step.backend) continue;
      // Told at some time of the call that was told so: its client may have read that after the next call was executed, and a
      // busy or paused backend may execute after it what it was sent before.
      const lost = losses.some(({ begun, ended }) => begun <= step.at && (ended ?? step.at) >= before.call.begun);
      if (lost) continue;
      const near = losses.map(({ id, begun, ended }) => `${id} ${begun - step.at} to ${ended - step.at} ms`);
      const told = `${near.length === 0 ? 'never' : near.join(', ')} from then`;
      failures.push(
        `moved from ${before.backend} (${before.call.id}, ${before.at - step.at} ms), told lost ${told}: ${describeCall(step.call, zero)}`,
      );
    }
  }
  return { name: 'a session stays on its backend, or is told lost', checked: bound.length, failures };
}
