import { describe, expect, it } from 'vitest';
import { createHealth } from '../../../src/balance/health.js';
import { defaultHealth, type Health } from '../../../src/balance/health-types.js';
import type { Candidate, PickQuery } from '../../../src/balance/types.js';
import { type BackendId, backendId } from '../../../src/grpc/backend-id.js';
import { SessionSeat } from '../../../src/proxy/session-seat.js';
import { sessionKeyOf } from '../../../src/runtime/session-key.js';
import { sessionRig } from '../balance/session-rig.js';

const [a, b, c] = [backendId('a'), backendId('b'), backendId('c')];

function candidate(id: BackendId, priority = 0): Candidate {
  return { id, name: id, link: 'ready', load: 0, weight: 1, priority };
}

const both = [candidate(a), candidate(b)];

/** Parks a backend by three failures in a row: 30 s. */
function park(health: Health, id: BackendId, now: number): void {
  for (let n = 0; n < 3; n += 1) {
    const tracked = health.of(id);
    tracked.ended(tracked.began(now), { kind: 'failure', cause: 'status' }, now, 0);
  }
  expect(health.standing(id, now)).toBe('parked');
}

/** Who gets 40 new sessions, each with its number. */
function placed(
  health: Health,
  now: number,
  { candidates = both, ...more }: Partial<PickQuery> & { candidates?: readonly Candidate[] } = {},
): Record<string, number> {
  const { sessions } = sessionRig();
  const shares: Record<string, number> = {};
  for (let n = 0; n < 40; n += 1) {
    const seat = new SessionSeat(sessionKeyOf(`session-${n}`), null, sessions, health);
    const query = { tried: [], failed: [], bounds: null, cause: 'first', guarded: false, now, ...more } as const;
    const pick = seat.choose(candidates, query);
    if (pick.kind !== 'use') throw new Error(pick.kind);
    expect(seat.backend).toBe(pick.id);
    shares[pick.id] = (shares[pick.id] ?? 0) + 1;
  }
  return shares;
}

describe('a new session', () => {
  it('SEN-31: probes a backend whose park is over with its share, as other calls may, and not while another probes it', () => {
    const health = createHealth(defaultHealth);
    const evenly = placed(health, 0);
    expect(Math.min(evenly['a'] ?? 0, evenly['b'] ?? 0)).toBeGreaterThan(10);
    park(health, a, 0);
    expect(placed(health, 29_999, { guarded: true })).toEqual({ b: 40 });
    expect(placed(health, 30_000, { guarded: true })).toEqual(evenly);
    expect(placed(health, 59_999)).toEqual({ b: 40 });
    expect(placed(health, 60_000)).toEqual(evenly);
    const mark = health.of(a).began(60_000);
    expect(health.standing(a, 60_000)).toBe('probing');
    expect(placed(health, 60_000)).toEqual({ b: 40 });
    health.of(a).answered(mark, 60_001);
    expect(placed(health, 60_001)).toEqual(evenly);
  });

  it('SEN-32: goes to the parked backend whose park ends first where all are parked, whatever its priority', () => {
    const health = createHealth(defaultHealth);
    const candidates = [candidate(a), candidate(b, 1), candidate(c)];
    park(health, b, 0);
    park(health, a, 1);
    park(health, c, 2);
    expect(placed(health, 10, { candidates })).toEqual({ b: 40 });
    expect(placed(health, 10, { candidates, tried: [b] })).toEqual({ a: 40 });
    expect(placed(health, 10, { candidates, tried: [a, b, c] })).toEqual({ b: 40 });
    health.of(c).ended(health.of(c).began(11), { kind: 'success', counts: true }, 11, 0);
    expect(placed(health, 11, { candidates, tried: [c] })).toEqual({ c: 40 });
  });

  it('SEN-32: prefers a rate limit to a park by failures', () => {
    const health = createHealth(defaultHealth);
    park(health, a, 0);
    health.of(b).ended(health.of(b).began(0), { kind: 'rateLimited', ms: null }, 25_000, 0);
    expect(placed(health, 25_000)).toEqual({ b: 40 });
  });
});
