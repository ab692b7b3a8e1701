import { describe, expect, it } from 'vitest';
import type { CallRecord, Evidence, FaultRecord, Look } from './checks.d.mts';
import { runChecks } from './checks.mjs';

const limits = { keepaliveTime: 3000, keepaliveTimeout: 2000, deadline: 20_000, maxAttempts: 4 };
const names = ['b1', 'b2'];

function call(over: Partial<CallRecord> = {}): CallRecord {
  return {
    id: 'c1',
    kind: 'unary',
    begun: 1000,
    ended: 1100,
    headersAt: 1090,
    ends: 1,
    code: 0,
    words: '',
    pin: null,
    session: null,
    backend: 'b1',
    answeredBy: 'b1',
    backends: null,
    retries: 0,
    reason: null,
    processed: null,
    wrong: null,
    ...over,
  };
}

function fault(over: Partial<FaultRecord> = {}): FaultRecord {
  return { backend: 'b1', kind: 'kill', began: 5000, ended: 20_000, ...over };
}

/** A look each second from 0 to 60 s: what `stateAt` says of b1, b2 always ready. */
function looks(stateAt: (at: number) => { state: string; parkedForMs?: number }): Look[] {
  return Array.from({ length: 61 }, (_, second) => {
    const at = second * 1000;
    const { state, parkedForMs = null } = stateAt(at);
    return {
      at,
      states: [
        { name: 'b1', state, parkedForMs },
        { name: 'b2', state: 'ready', parkedForMs: null },
      ],
    };
  });
}

const downWhileFaulty = looks((at) => ({ state: at >= 5000 && at <= 20_000 ? 'down' : 'ready' }));

function evidence(over: Partial<Evidence> = {}): Evidence {
  return {
    calls: [call()],
    faults: [fault()],
    executions: [{ backend: 'b1', id: 'c1', at: 1050 }],
    looks: downWhileFaulty,
    stalls: [],
    end: 60_000,
    ...over,
  };
}

/** The names of the checks that fail. */
function failing(over: Partial<Evidence> = {}): string[] {
  return runChecks(evidence(over), limits)
    .filter(({ failures }) => failures.length > 0)
    .map(({ name }) => name);
}

const told = (id: string, at: number, backend: string) => ({ id, at, backend });

describe('what a run of the chaos is held against', () => {
  it('passes a run in which all went well', () => {
    expect(failing()).toEqual([]);
  });

  it.each([
    ['no status', call({ ends: 0, ended: 1100, code: null, headersAt: null, backend: 'b2' })],
    ['two statuses', call({ ends: 2 })],
    ['no end', call({ ended: null })],
    ['an end long after the deadline', call({ ended: 30_000 })],
  ])('finds a call with %s', (_, one) => {
    expect(failing({ calls: [one], faults: [fault({ began: 100, ended: 300 })], looks: [] })).toContain(
      'every call has exactly one end',
    );
  });

  it('excuses by so much as the machine stood still', () => {
    const late = { calls: [call({ ended: 30_000 })], looks: [], faults: [fault({ backend: 'b2' })] };
    expect(failing({ ...late, stalls: [{ from: 2000, to: 12_000 }] })).toEqual([]);
    expect(failing({ ...late, stalls: [{ from: 40_000, to: 50_000 }] })).toEqual(['every call has exactly one end']);
  });

  it('finds a wrong answer', () => {
    expect(failing({ calls: [call({ wrong: '3 of 4 messages' })] })).toEqual(['what ends OK is answered right']);
  });

  it('finds an execution of a call that was told not processed', () => {
    const pinned = call({
      kind: 'pinned',
      pin: 'b1',
      code: 14,
      begun: 6000,
      ended: 6001,
      processed: 'no',
      reason: 'pinned',
    });
    expect(failing({ calls: [pinned] })).toEqual(['no call is executed of which its client was told processed: no']);
    expect(failing({ calls: [pinned], executions: [] })).toEqual([]);
  });

  it('finds more executions than attempts, of a bound call more than one', () => {
    const name = 'no call is executed more often than it has attempts';
    const runs = [1, 2, 3, 4, 5].map((at) => told('c1', at, 'b1'));
    expect(failing({ executions: runs })).toEqual([name]);
    expect(failing({ executions: runs.slice(1) })).toEqual([]);
    expect(failing({ executions: runs.slice(3), calls: [call({ pin: 'b1', kind: 'pinned' })] })).toEqual([name]);
  });

  it('finds a pinned call that another backend executed or answered', () => {
    const pinned = call({ kind: 'pinned', pin: 'b1' });
    const name = 'a pinned call reaches its backend alone';
    expect(failing({ calls: [pinned], executions: [told('c1', 1050, 'b2')] })).toEqual([name]);
    expect(failing({ calls: [{ ...pinned, backend: 'b2' }], executions: [] })).toEqual([name]);
  });

  it('finds a session that moves without being told', () => {
    const first = call({ id: 'c1', kind: 'session', session: 's1' });
    const second = call({ id: 'c3', kind: 'session', session: 's1', backend: 'b2', begun: 31_000, ended: 31_100 });
    const executions = [told('c1', 1050, 'b1'), told('c3', 31_050, 'b2')];
    expect(failing({ calls: [first, second], executions })).toEqual([
      'a session stays on its backend, or is told lost',
    ]);
    const lost = call({
      id: 'c2',
      kind: 'session',
      session: 's1',
      code: 14,
      begun: 10_000,
      ended: 10_001,
      reason: 'session_lost',
    });
    const leave = { executions, faults: [fault({ kind: 'leave' })] };
    expect(failing({ ...leave, calls: [first, lost, second] })).toEqual([]);
    // Told before the next call was executed, read after.
    expect(failing({ ...leave, calls: [first, { ...lost, begun: 31_020, ended: 31_070 }, second] })).not.toContain(
      'a session stays on its backend, or is told lost',
    );
    // Told while a call was on its way to the backend.
    expect(failing({ ...leave, calls: [first, { ...lost, begun: 1010, ended: 1020 }, second] })).not.toContain(
      'a session stays on its backend, or is told lost',
    );
    expect(failing({ ...leave, calls: [first, { ...lost, begun: 900, ended: 990 }, second] })).toContain(
      'a session stays on its backend, or is told lost',
    );
    expect(failing({ ...leave, calls: [first, { ...lost, begun: 31_060, ended: 31_070 }, second] })).toContain(
      'a session stays on its backend, or is told lost',
    );
  });

  it('finds a call that outlives the silence of its backend, by pin or by headers', () => {
    const name = 'calls on a cut or paused backend end within keepalive time + timeout + 1 s';
    const bound = { code: 14, begun: 4000, ended: 12_000, reason: 'backend_lost' };
    const paused = [fault({ kind: 'pause' })];
    expect(
      failing({ faults: paused, calls: [call({ ...bound, kind: 'pinned', pin: 'b1', headersAt: null })] }),
    ).toEqual([name]);
    expect(failing({ faults: paused, calls: [call({ ...bound, kind: 'chat', headersAt: 4500 })] })).toEqual([name]);
    expect(failing({ faults: paused, calls: [call({ ...bound, kind: 'chat', ended: 10_900 })] })).toEqual([]);
    // A shorter pause may end in an answer.
    const short = { faults: [fault({ kind: 'pause', ended: 9000 })], looks: [] };
    expect(failing({ ...short, calls: [call({ ...bound, kind: 'chat', code: 0 })] })).toEqual([]);
  });

  it('finds a call that outlives its killed backend', () => {
    const chat = call({ kind: 'chat', code: 14, begun: 4000, ended: 7000, reason: 'backend_lost' });
    expect(failing({ calls: [chat] })).toEqual(['calls on a killed or lost backend end within 1 s']);
  });

  it('lets a call be answered by a backend that is back', () => {
    const moved = call({ begun: 6000, headersAt: 21_000, ended: 21_100, backends: 'b2,b1' });
    expect(failing({ calls: [moved] })).toEqual([]);
  });

  it('finds that one plain call in a thousand fails', () => {
    const many = Array.from({ length: 1001 }, (_, i) => call({ id: `c${i + 10}` }));
    const bad = (id: string) => call({ id, code: 14, reason: 'attempts_exhausted' });
    const [name] = failing({ calls: [...many.slice(2), bad('c1')] });
    expect(name).toContain('fewer than 1 in 1000 fail (1)');
    expect(failing({ calls: [...many, bad('c1')] })).toEqual([]);
    expect(failing({ calls: [...many, call({ id: 'c1', code: 14 })] })).toEqual([
      'a plain unary call that fails tells why',
    ]);
  });

  it('finds a bound call that fails while its backend is well', () => {
    const name = 'a bound call fails only beside a fault of its backend';
    const pinned = call({ kind: 'pinned', pin: 'b1', code: 14, reason: 'backend_lost' });
    expect(failing({ calls: [pinned] })).toEqual([name]);
    expect(failing({ calls: [{ ...pinned, begun: 6000, ended: 6100 }] })).toEqual([]);
    // Still down, seen so by /backends.
    expect(failing({ calls: [{ ...pinned, begun: 21_500, ended: 21_600 }] })).toEqual([]);
    expect(failing({ calls: [{ ...pinned, begun: 25_000, ended: 25_100 }] })).toEqual([name]);
  });

  it('finds a session call that fails while the backend of its session is well', () => {
    const name = 'a bound call fails only beside a fault of its backend';
    const first = call({ kind: 'session', session: 's1' });
    const refused = call({
      ...{ id: 'c2', kind: 'session', session: 's1', code: 14, reason: 'pinned_backend_unavailable' },
      ...{ backend: null, begun: 10_000, ended: 10_001, headersAt: null },
    });
    expect(failing({ calls: [first, refused] })).toEqual([]);
    expect(failing({ calls: [first, { ...refused, begun: 30_000, ended: 30_001 }] })).toEqual([name]);
    const lost: CallRecord = { ...refused, reason: 'session_lost' };
    expect(failing({ calls: [first, lost] })).toEqual([name]);
    expect(failing({ calls: [first, lost], faults: [fault({ kind: 'leave' })] })).toEqual([]);
    // Taken elsewhere by a call that nobody has seen yet.
    const other: CallRecord = { ...lost, words: "the session's backend b2 is gone, and what it knew" };
    expect(failing({ calls: [first, other], faults: [fault({ kind: 'leave' })] })).toEqual([name]);
    expect(failing({ calls: [first, other], faults: [fault(), fault({ kind: 'leave', backend: 'b2' })] })).toEqual([]);
    // Away for the 60 s of --session-lost-after, by parks that follow one another.
    const away = looks((at) => (at > 5000 ? { state: 'parked', parkedForMs: 60_000 } : { state: 'ready' }));
    const late = [...away, ...away.map((look) => ({ ...look, at: look.at + 61_000, states: away[60]?.states ?? [] }))];
    const since = { looks: late, end: 130_000, calls: [first, { ...lost, begun: 70_000, ended: 70_001 }] };
    expect(failing(since)).toEqual([]);
    expect(failing({ ...since, calls: [first, { ...lost, begun: 60_000, ended: 60_001 }] })).toEqual([name]);
  });

  it('finds a stream that a backend that leaves or is drained did not let finish', () => {
    const cut = call({ kind: 'chat', code: 14, begun: 4000, headersAt: 4500, ended: 5500, reason: 'drain_timeout' });
    for (const kind of ['leave', 'drain'] as const) {
      expect(failing({ calls: [cut], faults: [fault({ kind })] })).toEqual([
        'a bound call fails only beside a fault of its backend',
      ]);
    }
    expect(failing({ calls: [cut], faults: [fault({ kind: 'break' })] })).toEqual([]);
  });

  it('finds a stream that outlives its backend being declared lost', () => {
    const chat = call({ kind: 'chat', begun: 4000, headersAt: 4500, ended: 7000 });
    const lost = { faults: [fault({ kind: 'lost', ended: 5001 })], looks: [] };
    const name = 'calls on a killed or lost backend end within 1 s';
    expect(failing({ ...lost, calls: [chat] })).toEqual([name]);
    // On the connection that was made after.
    expect(failing({ ...lost, calls: [{ ...chat, begun: 5100, headersAt: 5200 }] })).toEqual([]);
  });

  it('finds a fault that is not seen in the state of its backend', () => {
    const name = '10 s after a fault began its backend is parked or down';
    expect(failing({ looks: looks(() => ({ state: 'ready' })) })).toEqual([name]);
    expect(failing({ looks: looks(() => ({ state: 'ready' })), faults: [fault({ kind: 'slow' })] })).toEqual([]);
  });

  it('finds a backend that is down without a fault', () => {
    const name = 'no backend without a fault is parked or down';
    const early = looks((at) => ({ state: (at >= 5000 && at <= 20_000) || at === 2000 ? 'down' : 'ready' }));
    expect(failing({ looks: early })).toEqual([name]);
  });

  it('finds a backend that has no connection long after its fault', () => {
    const late = looks((at) => ({ state: at >= 5000 && at <= 35_000 ? 'down' : 'ready' }));
    expect(failing({ looks: late })).toEqual(['after a fault a backend has a connection again']);
  });

  it('finds a backend that stays parked when its park ran out and it answered', () => {
    const name = 'no backend stays parked once its park ran out and it answered';
    const parked = looks((at) =>
      at >= 5000 && at <= 45_000 ? { state: 'parked', parkedForMs: Math.max(0, 30_000 - at) } : { state: 'ready' },
    );
    const answered = call({ begun: 31_000, ended: 31_100 });
    expect(failing({ looks: parked, calls: [answered] })).toEqual([name]);
    expect(failing({ looks: parked, calls: [call({ begun: 25_000, ended: 25_100 })] })).toEqual([]);
  });

  it('passes no run without a fault', () => {
    expect(failing({ faults: [], looks: [] })).toEqual(['faults were mounted']);
  });

  it('knows the backends of its looks', () => {
    expect(downWhileFaulty[0]?.states.map(({ name }) => name)).toEqual(names);
  });
});
