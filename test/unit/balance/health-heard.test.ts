import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sharedWithWorkers } from '../../../src/balance/health-shared.js';
import type { HealthChange, ReleaseRoute } from '../../../src/balance/health-types.js';
import { backendId } from '../../../src/grpc/backend-id.js';
import { failure, limit, lost, neutral, Rig, success, timeout } from './health-rig.js';

const id = backendId('a');

const park = (streak = 1, parkMs = 30_000, transport = false): HealthChange => ({
  kind: 'parked',
  id,
  reason: 'consecutive_failures',
  parkMs,
  streak,
  failures: 3,
  transport,
});

const limited = (parkMs: number, streak = 1): HealthChange => ({
  kind: 'parked',
  id,
  reason: 'rate_limited',
  parkMs,
  streak,
  failures: 0,
  transport: false,
});

const release = (route: ReleaseRoute): HealthChange => ({
  kind: 'released',
  id,
  reason: 'consecutive_failures',
  route,
  parkMs: 1,
});

/** A worker that hears. */
class Hearer extends Rig {
  hear(change: HealthChange): HealthChange | null {
    return this.backend.heard(change, this.now);
  }

  hears(change: HealthChange): this {
    this.hear(change);
    return this;
  }
}

/** Its backend answered this worker just now: a breach of its own would not park. */
function content(): Hearer {
  const rig = new Hearer();
  rig.meets(success);
  return rig;
}

describe('which changes are told to other workers', () => {
  const reasons = ['consecutive_failures', 'rate_limited', 'operator', 'not_serving'] as const;
  const routes = ['success', 'lapsed_probe', 'connected', 'serving', 'operator', 'removed'] as const;

  it('parks by failures and by rate limits are, those by hand and by health checks are not', () => {
    const told = reasons.filter((reason) => sharedWithWorkers({ ...park(), reason } as HealthChange));
    expect(told).toEqual(['consecutive_failures', 'rate_limited']);
  });

  it('of releases those of a park by failures, by an answer or a connection', () => {
    const told = reasons.map((reason) =>
      routes.filter((route) => sharedWithWorkers({ kind: 'released', id, reason, route, parkMs: 0 })),
    );
    expect(told).toEqual([['success', 'lapsed_probe', 'connected'], [], [], []]);
  });

  it.each<HealthChange>([
    { ...park(), reason: 'operator' } as HealthChange,
    { ...park(), reason: 'not_serving', parkMs: null } as HealthChange,
    { ...park(), parkMs: null } as HealthChange,
    release('operator'),
    release('removed'),
    release('serving'),
  ])('another one that is heard all the same changes nothing: %j', (change) => {
    const rig = new Hearer().parked() as Hearer;
    const before = rig.stats;
    expect(rig.hear(change)).toBeNull();
    expect(rig.stats).toEqual(before);
  });
});

describe('a park that another worker decided', () => {
  it('holds here for the same time and as the same in its row, and is no call of this worker', () => {
    const rig = content();
    const { calls, failures, failure_rate } = rig.stats;
    expect(rig.hear(park(2, 60_000))).toEqual({ ...park(2, 60_000) });
    expect(rig.stats).toMatchObject({
      standing: 'parked',
      park_reason: 'consecutive_failures',
      parked_for_ms: 60_000,
      park_streak: 2,
      consecutive_hard_failures: 3,
      consecutive_failures: 3,
      threshold_breached: true,
      calls,
      failures,
      failure_rate,
    });
    expect(rig.health.calm).toBe(false);
    expect(rig.pass(59_999).standing).toBe('parked');
    expect([rig.pass(1).standing, rig.mayProbe(true)]).toEqual(['lapsed', true]);
  });

  it('failures of attempts that began before it park no second time', () => {
    const rig = content();
    const marks = [rig.began(), rig.began(), rig.began(), rig.began()];
    rig.hears(park()).pass(30_000);
    expect(marks.map((mark) => rig.end(mark, lost))).toEqual([null, null, null, null]);
    expect(rig.stats.park_streak).toBe(1);
  });

  it('a probe of its own that fails parks for twice as long, though this worker alone had no ground to park', () => {
    const rig = content();
    rig.hears(park()).pass(30_000);
    expect(rig.meets(failure)).toMatchObject({ kind: 'parked', parkMs: 60_000, streak: 2 });
    expect(rig.stats.failure_rate).toBe(0.1);
  });

  it('a probe that is under way when another worker fails its own is a probe no more', () => {
    const rig = content();
    rig.hears(park()).pass(30_000);
    const probe = rig.began();
    expect(rig.standing).toBe('probing');
    rig.hears(park(2, 60_000));
    expect(rig.backend.answered(probe, rig.now)).toBeNull();
    expect(rig.end(probe, failure)).toBeNull();
    expect(rig.stats).toMatchObject({ parked_for_ms: 60_000, park_streak: 2 });
  });

  it('a longer one of its own is not shortened, and stands as the later in the row', () => {
    const rig = new Hearer({ parkFirst: 50_000 });
    rig.parked();
    expect(rig.hear(park(1, 30_000))).toBeNull();
    expect(rig.stats).toMatchObject({ parked_for_ms: 50_000, park_streak: 1 });
    expect(rig.hear(park(3, 30_000))).toMatchObject({ parkMs: 50_000, streak: 3 });
    expect(rig.stats).toMatchObject({ parked_for_ms: 50_000, park_streak: 3 });
    rig.hears(park(2, 60_000));
    expect(rig.stats).toMatchObject({ parked_for_ms: 60_000, park_streak: 3 });
  });

  it('two workers that park at once and hear of each other have parked once', () => {
    const rigs = [new Hearer(), new Hearer()] as const;
    const [first, second] = rigs.map((rig) => rig.meets(failure, failure, failure));
    for (const rig of rigs) rig.pass(2);
    rigs[0].hears(second ?? park());
    rigs[1].hears(first ?? park());
    for (const rig of rigs) expect(rig.stats).toMatchObject({ park_streak: 1, parked_for_ms: 30_000 });
  });

  it('where its failures were all of the transport a new connection of this worker ends it too', () => {
    const rig = content().hears(park(1, 30_000, true));
    expect(rig.backend.connected(rig.now)).toMatchObject({ kind: 'released', route: 'connected' });
    const other = content().hears(park());
    expect(other.backend.connected(other.now)).toBeNull();
    const mixed = content();
    mixed.meets(timeout);
    mixed.hears(park(1, 30_000, true));
    expect(mixed.backend.connected(mixed.now)).toBeNull();
  });

  it('with a park by hand it ends for itself', () => {
    const rig = content();
    rig.backend.park(null, rig.now);
    rig.hears(park()).hears(release('success'));
    expect(rig.stats).toMatchObject({ park_reason: 'operator', park_streak: 0 });
  });

  it('counts as one absence with the parks that follow it', () => {
    const rig = content();
    const from = rig.now;
    rig.hears(park()).pass(30_000).meets(failure);
    expect(rig.backend.absentSince(rig.now)).toBe(from);
  });

  it('of a backend that is gone nothing is heard', () => {
    const rig = new Hearer();
    rig.health.forget(rig.id, rig.now);
    expect(rig.hear(park())).toBeNull();
    expect(rig.health.calm).toBe(true);
  });
});

describe('a rate limit that another worker met', () => {
  it('parks here for the same time; the next one of this worker takes the next step', () => {
    const rig = content();
    expect(rig.hear(limited(10_000))).toEqual(limited(10_000));
    expect(rig.stats).toMatchObject({ standing: 'rate_limited', rate_limited_for_ms: 10_000, rate_limited: 0 });
    expect(rig.pass(10_000).standing).toBe('recent');
    expect(rig.meets(limit())).toMatchObject({ parkMs: 20_000, streak: 2 });
  });

  it('those of attempts that began before it take no step', () => {
    const rig = content();
    const mark = rig.began();
    rig.hears(limited(10_000)).pass(10_000);
    expect(rig.end(mark, limit())).toBeNull();
  });

  it('shortens none, and an answer ends its row', () => {
    const rig = content();
    rig.meets(limit(40_000));
    expect(rig.hear(limited(10_000))).toBeNull();
    expect(rig.stats.rate_limited_for_ms).toBe(40_000);
    expect(rig.hear(limited(10_000, 3))).toMatchObject({ parkMs: 40_000, streak: 3 });
    rig.pass(40_000).meets(success);
    expect(rig.meets(limit())).toMatchObject({ parkMs: 10_000, streak: 1 });
  });

  it('an answer ends the row of one that was heard alone', () => {
    const rig = content();
    rig.hears(limited(10_000)).pass(10_000).meets(success);
    expect(rig.meets(limit())).toMatchObject({ parkMs: 10_000, streak: 1 });
  });

  it('after a long rest it is a first one, as one of its own', () => {
    const rig = content();
    rig.meets(limit());
    rig.pass(10_000).meets(limit());
    rig.pass(120_000).hears(limited(10_000));
    expect(rig.pass(10_000).meets(limit())).toMatchObject({ parkMs: 20_000, streak: 2 });
  });
});

describe('a release that another worker decided', () => {
  it('an answer there ends the park here, its row and the failures in it', () => {
    const rig = new Hearer().parked() as Hearer;
    expect(rig.pass(1000).hear(release('success'))).toEqual({ ...release('success'), parkMs: 29_000 });
    expect(rig.stats).toMatchObject({
      standing: 'clean',
      park_streak: 0,
      consecutive_failures: 0,
      threshold_breached: false,
      successes: 0,
    });
    expect(rig.health.calm).toBe(true);
    // It is alive: three failures alone park no more.
    expect(rig.meets(failure, failure, failure)).toBeNull();
  });

  it('a probe that is answered there ends it here; the row of parks goes on until an end that is good', () => {
    const rig = new Hearer().parked() as Hearer;
    rig.pass(30_000);
    expect(rig.hear(release('lapsed_probe'))).toMatchObject({ route: 'lapsed_probe', parkMs: 0 });
    expect(rig.stats).toMatchObject({ park_streak: 1, consecutive_hard_failures: 0 });
    expect(rig.pass(30_000).standing).toBe('clean');
    rig.meets(success);
    expect(rig.stats.park_streak).toBe(0);
  });

  it('the row of a park that was heard alone ends with an answer as well', () => {
    const rig = content().hears(park()).pass(30_000) as Hearer;
    rig.hears(release('lapsed_probe')).meets(success);
    expect(rig.stats).toMatchObject({ park_streak: 0, consecutive_failures: 0 });
  });

  it('a new connection there ends the park here where its failures were of the transport alone', () => {
    const rig = new Hearer().parked(lost) as Hearer;
    expect(rig.hear(release('connected'))).toMatchObject({ route: 'connected' });
    expect(rig.stats).toMatchObject({ park_streak: 1, consecutive_hard_failures: 0, standing: 'recent' });
    expect((new Hearer().parked(failure) as Hearer).hear(release('connected'))).toBeNull();
  });

  it('without a park it says nothing, and failures in a row end all the same', () => {
    const rig = new Hearer();
    rig.meets(failure, failure);
    expect(rig.hear(release('success'))).toBeNull();
    expect(rig.stats.consecutive_hard_failures).toBe(0);
  });

  it('leaves a rate limit until its time is over', () => {
    const rig = content();
    rig.meets(limit(40_000));
    rig.hears(release('success'));
    expect(rig.standing).toBe('rate_limited');
  });
});

/** A run is done again with HEDGEROW_SEED set to what it printed. */
const seed = Number(process.env['HEDGEROW_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

type Step = {
  readonly worker: number;
  readonly pause: number;
  readonly act: 'began' | 'success' | 'failure' | 'lost' | 'neutral' | 'connected' | 'deliver';
};

const steps = fc.array(
  fc.record<Step>({
    worker: fc.nat(2),
    pause: fc.constantFrom(0, 0, 0, 1, 10_000, 29_999, 30_000, 60_000),
    act: fc.constantFrom('began', 'began', 'success', 'failure', 'failure', 'lost', 'neutral', 'connected', 'deliver'),
  }),
  { minLength: 20, maxLength: 120, size: 'max' },
);

it('however three workers tell each other, no park is shortened by one, none lasts, and all can be probed', () => {
  console.info(`heard: HEDGEROW_SEED=${seed}`);
  let parks = 0;
  let releases = 0;
  fc.assert(
    fc.property(steps, (run) => {
      const workers = [new Hearer(), new Hearer(), new Hearer()];
      const open: number[][] = workers.map(() => []);
      const post: HealthChange[][] = workers.map(() => []);
      let longest = 0;
      const tell = (from: number, change: HealthChange | null): void => {
        if (change === null || !sharedWithWorkers(change)) return;
        if (change.kind === 'parked') longest = Math.max(longest, change.streak);
        for (const [to, box] of post.entries()) if (to !== from) box.push(change);
      };
      const deliver = (to: number): void => {
        const rig = workers[to];
        for (const change of post[to]?.splice(0) ?? []) {
          const before = rig?.health.parkedUntil(id) ?? 0;
          const heard = rig?.hear(change);
          const after = rig?.health.parkedUntil(id) ?? 0;
          if (change.kind === 'parked') expect(after).toBeGreaterThanOrEqual(before);
          if (heard?.kind === 'parked') parks += 1;
          if (heard?.kind === 'released') releases += 1;
        }
        // Nobody is further in the row than where somebody has parked.
        expect(rig?.stats.park_streak).toBeLessThanOrEqual(longest);
      };
      for (const { worker, pause, act } of run) {
        for (const rig of workers) rig.pass(pause);
        const rig = workers[worker];
        if (rig === undefined) continue;
        switch (act) {
          case 'began':
            open[worker]?.push(rig.began());
            break;
          case 'connected':
            tell(worker, rig.backend.connected(rig.now));
            break;
          case 'deliver':
            deliver(worker);
            break;
          case 'success':
          case 'failure':
          case 'lost':
          case 'neutral': {
            const mark = open[worker]?.shift();
            if (mark !== undefined) tell(worker, rig.end(mark, { success, failure, lost, neutral }[act]));
            break;
          }
          default:
            act satisfies never;
        }
        const calm = rig.standing === 'clean' || rig.standing === 'recent';
        expect(rig.health.calm).toBe(calm);
      }
      for (const [index, rig] of workers.entries()) {
        deliver(index);
        rig.pass(120_000);
        if (rig.standing !== 'clean') expect([rig.standing, rig.mayProbe(true)]).toEqual(['lapsed', true]);
        rig.meets(success);
        expect(rig.stats).toMatchObject({ standing: 'clean', park_streak: 0, consecutive_hard_failures: 0 });
      }
    }),
    { seed, numRuns: 300 },
  );
  expect([parks > 20, releases > 20]).toEqual([true, true]);
});
