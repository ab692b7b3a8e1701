import { describe, expect, it } from 'vitest';
import { createHealthBook } from '../../../src/app/health-book.js';
import { transportFailure } from '../../../src/balance/blame.js';
import type { HealthChange } from '../../../src/balance/health-types.js';
import { readSettings } from '../../../src/config/read-settings.js';
import { backend as standing } from '../admin/backends.js';

function book() {
  const read = readSettings({ flags: ['--backend', 'b1=10.0.0.7:50051'], env: {}, file: null });
  if (!read.ok) throw new Error(read.problem);
  const time = { now: 1000 };
  const told: HealthChange[] = [];
  const made = createHealthBook(
    read.settings,
    () => time.now,
    (change) => told.push(change),
  );
  return { ...made, time, told, health: made.health.of(standing().id) };
}

describe('how a backend is for its sessions', () => {
  it('SES-06: none of that name, or one whose drain has ended, is gone; one that drains is not', () => {
    const { presenceOf } = book();
    expect(presenceOf(undefined, 1000)).toBe('gone');
    expect(presenceOf(standing({ phase: 'left' }), 1000)).toBe('gone');
    expect(presenceOf(standing({ phase: 'leaving' }), 1000)).toBeNull();
  });

  it('SES-07: away since it is parked or down, in whatever order, without a break', () => {
    const { presenceOf, noteLink, health, time } = book();
    const down = standing({ connections: 0, downSince: 1000 });
    expect(presenceOf(down, 1000)).toBe(1000);
    noteLink(down);
    time.now = 2000;
    health.park(null, time.now);
    noteLink(standing());
    time.now = 9000;
    expect(presenceOf(standing(), time.now)).toBe(1000);
    health.unpark(time.now);
    expect(presenceOf(standing(), time.now)).toBeNull();
  });

  it('HEA-60: a new connection that ends a park is told', () => {
    const { noteLink, health, told, time } = book();
    for (let n = 0; n < 3; n += 1) health.ended(health.began(time.now), transportFailure, time.now, 1);
    noteLink(standing());
    expect(told).toMatchObject([{ kind: 'released', route: 'connected' }]);
    noteLink(standing());
    expect(told).toHaveLength(1);
  });
});
