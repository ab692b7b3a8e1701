import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createRoster,
  type Roster,
  type RosterDecision,
  type RosterEvent,
  stepRoster,
} from '../../../src/workers/roster.js';

/** A roster at a time of the test's own. What was decided is told in words: `fork 1`, `error: worker 1 …`. */
class Rig {
  readonly roster: Roster;
  now = 1_000_000;
  wakeAt: number | null = null;

  constructor(workers: number) {
    this.roster = createRoster(workers);
  }

  step(event: RosterEvent): string[] {
    const { decisions, wakeAt } = stepRoster(this.roster, event, this.now);
    this.wakeAt = wakeAt;
    return decisions.map(inWords);
  }

  begun = (): string[] => this.step({ kind: 'begun' });
  ready = (worker: number): string[] => this.step({ kind: 'ready', worker });
  failed = (worker: number): string[] => this.step({ kind: 'failed', worker, problem: 'the port is in use' });
  killed = (worker: number): string[] => this.step({ kind: 'gone', worker, code: null, signal: 'SIGKILL' });
  ended = (worker: number, code: number | null = 1): string[] =>
    this.step({ kind: 'gone', worker, code, signal: null });
  ending = (): string[] => this.step({ kind: 'ending' });

  after(ms: number): this {
    this.now += ms;
    return this;
  }

  /** Goes to the time that is due. */
  woke(): string[] {
    this.now = this.wakeAt ?? Number.NaN;
    return this.step({ kind: 'woke' });
  }

  /** All up, the numbers 1 to N. */
  started(): this {
    this.begun();
    for (const [index] of this.roster.places.entries()) this.ready(index + 1);
    return this;
  }
}

function inWords(decision: RosterDecision): string {
  switch (decision.kind) {
    case 'fork':
      return `fork ${decision.worker} at ${decision.place}`;
    case 'tell':
      return `${decision.level}: ${decision.message}`;
    case 'giveUp':
      return `giveUp: ${decision.problem}`;
    case 'ready':
    case 'allGone':
      return decision.kind;
    default:
      return decision satisfies never;
  }
}

describe('the start', () => {
  it('WRK-01: the first worker is started alone, the others when it is ready, and ready is told once', () => {
    const rig = new Rig(3);
    expect(rig.begun()).toEqual(['fork 1 at 0']);
    expect(rig.ready(1)).toEqual(['debug: worker 1 is ready', 'fork 2 at 1', 'fork 3 at 2']);
    expect(rig.ready(3)).toEqual(['debug: worker 3 is ready']);
    expect(rig.ready(2)).toEqual(['debug: worker 2 is ready', 'ready']);
    expect(rig.wakeAt).toBeNull();
    rig.after(60_000).killed(2);
    expect(rig.ready(4)).toEqual(['info: worker 4 is ready']);
  });

  it('WRK-01: one worker is ready at once when it is', () => {
    const rig = new Rig(1);
    rig.begun();
    expect(rig.ready(1)).toEqual(['debug: worker 1 is ready', 'ready']);
  });

  it('WRK-01: what the first worker says is wrong ends the start, and no other is begun', () => {
    const rig = new Rig(3);
    rig.begun();
    expect(rig.failed(1)).toEqual(['giveUp: the port is in use']);
    expect(rig.ended(1, 0)).toEqual(['debug: worker 1 ended with exit code 0', 'allGone']);
    expect(rig.wakeAt).toBeNull();
  });

  it('WRK-01: a later one that cannot start ends it as well, once', () => {
    const rig = new Rig(3);
    rig.begun();
    rig.ready(1);
    expect(rig.failed(2)).toEqual(['giveUp: the port is in use']);
    expect(rig.failed(3)).toEqual([]);
    expect(rig.ended(3)).toEqual(['warn: worker 3 ended with exit code 1']);
  });

  it('WRK-01: one that dies before its ready without a word ends it by what it died of', () => {
    const rig = new Rig(2);
    rig.begun();
    expect(rig.killed(1)).toEqual(['giveUp: worker 1 was killed by SIGKILL before it was ready', 'allGone']);
  });

  it('WRK-01: one that was ready and dies before all are is replaced, and ready waits for the new one', () => {
    const rig = new Rig(2);
    rig.begun();
    rig.ready(1);
    expect(rig.killed(1)).toEqual([
      'error: worker 1 was killed by SIGKILL 0 ms after it was ready; another takes its place in 250 ms',
    ]);
    expect(rig.ready(2)).toEqual(['debug: worker 2 is ready']);
    expect(rig.woke()).toEqual(['fork 3 at 0']);
    expect(rig.ready(3)).toEqual(['debug: worker 3 is ready', 'ready']);
  });
});

describe('one that dies', () => {
  it('WRK-02: is replaced at once, in its place, by a new number', () => {
    const rig = new Rig(2).started();
    expect(rig.after(10_000).killed(1)).toEqual([
      'error: worker 1 was killed by SIGKILL 10.0 s after it was ready; another takes its place now',
      'fork 3 at 0',
    ]);
    expect(rig.wakeAt).toBeNull();
  });

  it.each<[number | null, string | null, string]>([
    [0, null, 'ended with exit code 0'],
    [70, null, 'ended with exit code 70'],
    [null, 'SIGSEGV', 'was killed by SIGSEGV'],
    [null, null, 'ended'],
  ])('WRK-02: with code %s and signal %s it %3$s', (code, signal, words) => {
    const rig = new Rig(1).started().after(12_340);
    expect(rig.step({ kind: 'gone', worker: 1, code, signal })[0]).toBe(
      `error: worker 1 ${words} 12.3 s after it was ready; another takes its place now`,
    );
  });

  it('WRK-02: within 10 s of its ready it waits, exactly', () => {
    const rig = new Rig(1).started();
    expect(rig.after(9999).killed(1)).toHaveLength(1);
    expect(rig.wakeAt).toBe(rig.now + 250);
    expect(rig.after(249).step({ kind: 'woke' })).toEqual([]);
    expect(rig.after(1).step({ kind: 'woke' })).toEqual(['fork 2 at 0']);
  });

  it('WRK-02: each quick death in a row doubles the wait, up to 30 s', () => {
    const rig = new Rig(1).started();
    const waits: number[] = [];
    for (let worker = 1; worker <= 10; worker += 1) {
      // By turns after its ready and before.
      if (worker % 2 === 0) rig.ready(worker);
      rig.killed(worker);
      waits.push((rig.wakeAt ?? 0) - rig.now);
      expect(rig.woke()).toEqual([`fork ${worker + 1} at 0`]);
    }
    expect(waits).toEqual([250, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  });

  it('WRK-02: a life of 60 s ends the row, a shorter one goes on with it', () => {
    for (const [life, wait] of [
      [60_000, 250],
      [59_999, 500],
    ] as const) {
      const rig = new Rig(1).started();
      rig.killed(1);
      rig.woke();
      rig.ready(2);
      expect(rig.after(life).killed(2)[1]).toBe('fork 3 at 0');
      rig.ready(3);
      rig.killed(3);
      expect((rig.wakeAt ?? 0) - rig.now).toBe(wait);
    }
  });

  it('WRK-02: rows are by place: another one that dies quickly waits as for the first time', () => {
    const rig = new Rig(2).started();
    rig.killed(1);
    rig.woke();
    rig.killed(3);
    expect((rig.wakeAt ?? 0) - rig.now).toBe(500);
    rig.killed(2);
    expect((rig.wakeAt ?? 0) - rig.now).toBe(250);
    expect(rig.woke()).toEqual(['fork 4 at 1']);
    expect(rig.woke()).toEqual(['fork 5 at 0']);
  });

  it('WRK-02: a new one that cannot start is told of, and waited for as one that died before its ready', () => {
    const rig = new Rig(1).started().after(60_000);
    rig.killed(1);
    expect(rig.failed(2)).toEqual(['error: worker 2 cannot start: the port is in use']);
    expect(rig.ended(2)).toEqual([
      'error: worker 2 ended with exit code 1 before it was ready; another takes its place in 250 ms',
    ]);
  });

  it('WRK-02: who is unknown or gone changes nothing', () => {
    const rig = new Rig(1).started().after(60_000);
    rig.killed(1);
    expect([rig.killed(1), rig.ready(1), rig.failed(1), rig.ready(7), rig.killed(7)]).toEqual([[], [], [], [], []]);
    rig.ready(2);
    expect(rig.ready(2)).toEqual([]);
  });
});

describe('the end', () => {
  it('WRK-02: while calls are finished nobody is replaced, and the last one is told', () => {
    const rig = new Rig(2).started();
    expect(rig.ending()).toEqual([]);
    expect(rig.ended(1, 0)).toEqual(['debug: worker 1 ended with exit code 0']);
    expect(rig.killed(2)).toEqual(['warn: worker 2 was killed by SIGKILL', 'allGone']);
    expect(rig.ending()).toEqual([]);
  });

  it('WRK-02: one that is due is not started any more', () => {
    const rig = new Rig(1).started();
    rig.killed(1);
    expect(rig.ending()).toEqual(['allGone']);
    expect(rig.wakeAt).toBeNull();
    expect(rig.after(1000).step({ kind: 'woke' })).toEqual([]);
  });

  it('WRK-02: one that becomes ready meanwhile brings no others', () => {
    const rig = new Rig(3);
    rig.begun();
    rig.ending();
    expect(rig.ready(1)).toEqual(['debug: worker 1 is ready']);
    expect(rig.ended(1, 0)).toContain('allGone');
  });
});

/** A run is done again with HEDGEROW_SEED set to what it printed. */
const seed = Number(process.env['HEDGEROW_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

const acts = fc.array(
  fc.record({
    pause: fc.constantFrom(0, 0, 1, 250, 500, 9999, 10_000, 60_000),
    act: fc.oneof(
      { weight: 12, arbitrary: fc.constantFrom('ready' as const) },
      { weight: 8, arbitrary: fc.constantFrom('gone' as const) },
      { weight: 1, arbitrary: fc.constantFrom('failed' as const, 'ending' as const) },
    ),
    which: fc.nat(100),
  }),
  { maxLength: 80, size: 'max' },
);

it('WRK-01, WRK-02: whatever happens there are as many as asked for, there or due, and none begins at the end', () => {
  console.info(`roster: HEDGEROW_SEED=${seed}`);
  const seen = new Map<string, number>();
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), acts, (count, run) => {
      const roster = createRoster(count);
      /** By its number, the place of each that is there. */
      const alive = new Map<number, number>();
      const isReady = new Set<number>();
      let now = 0;
      let last = 0;
      let ending = false;
      const told = { ready: 0, giveUp: 0, allGone: 0 };
      const step = (event: RosterEvent): void => {
        if (event.kind === 'gone') alive.delete(event.worker);
        if (event.kind === 'gone') isReady.delete(event.worker);
        if (event.kind === 'ready') isReady.add(event.worker);
        if (event.kind === 'ending') ending = true;
        const { decisions, wakeAt } = stepRoster(roster, event, now);
        for (const decision of decisions) {
          seen.set(decision.kind, (seen.get(decision.kind) ?? 0) + 1);
          if (decision.kind === 'fork') {
            expect(ending).toBe(false);
            expect(decision.worker).toBe(last + 1);
            expect([...alive.values()]).not.toContain(decision.place);
            last = decision.worker;
            alive.set(decision.worker, decision.place);
          } else if (decision.kind === 'giveUp') {
            expect(told.ready).toBe(0);
            ending = true;
          }
          if (decision.kind !== 'fork' && decision.kind !== 'tell') told[decision.kind] += 1;
          if (decision.kind === 'ready') expect(isReady.size).toBe(count);
        }
        expect(Math.max(told.ready, told.giveUp, told.allGone)).toBeLessThanOrEqual(1);
        expect(alive.size).toBeLessThanOrEqual(count);
        if (ending) {
          expect([wakeAt, told.allGone]).toEqual([null, alive.size === 0 ? 1 : 0]);
        } else {
          // The first one alone may be all there is; after its ready each place has one, or one that is due.
          if (alive.size < count && wakeAt === null) expect([...alive.keys()]).toEqual([1]);
          if (wakeAt !== null) expect([wakeAt > now, wakeAt <= now + 30_000]).toEqual([true, true]);
          if (alive.size === 0) expect(wakeAt).not.toBeNull();
        }
        due = wakeAt;
      };
      let due: number | null = null;
      step({ kind: 'begun' });
      for (const { pause, act, which } of run) {
        const until = now + pause;
        while (due !== null && due <= until) {
          now = due;
          step({ kind: 'woke' });
        }
        now = until;
        const worker = [...alive.keys()][which % Math.max(1, alive.size)] ?? 0;
        if (act === 'ending') step({ kind: 'ending' });
        else if (alive.has(worker)) {
          if (act === 'ready') step({ kind: 'ready', worker });
          if (act === 'gone') step({ kind: 'gone', worker, code: 1, signal: null });
          if (act === 'failed') step({ kind: 'failed', worker, problem: 'no' });
        }
      }
      step({ kind: 'ending' });
      for (const worker of [...alive.keys()]) step({ kind: 'gone', worker, code: 0, signal: null });
      expect(told.allGone).toBe(1);
    }),
    { seed, numRuns: 500 },
  );
  for (const kind of ['fork', 'tell', 'ready', 'giveUp', 'allGone'])
    expect(seen.get(kind) ?? 0, kind).toBeGreaterThan(20);
});
