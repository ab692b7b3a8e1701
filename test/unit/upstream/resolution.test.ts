import { describe, expect, it } from 'vitest';
import {
  type Answer,
  mostMembers,
  newResolution,
  type Resolution,
  type ResolutionDecision,
  type ResolutionEvent,
  type ResolutionLimits,
  resolutionWakeAt,
  stepResolution,
} from '../../../src/upstream/resolution.js';

const every30s: ResolutionLimits = { refresh: 30_000, minInterval: 5000 };

/** One name on a clock that the test moves. */
class Name {
  now = 1_000_000;
  random = 0.5;
  resolution: Resolution = newResolution(this.now);

  on(event: ResolutionEvent): readonly ResolutionDecision[] {
    const step = stepResolution(this.resolution, event, every30s, this.now, this.random);
    this.resolution = step.resolution;
    return step.decisions;
  }

  answered(addresses: readonly string[], unsure: Answer['unsure'] = null): readonly ResolutionDecision[] {
    return this.on({ type: 'answered', answer: { addresses, unsure } });
  }

  failed(problem = 'no such name'): readonly ResolutionDecision[] {
    return this.on({ type: 'failed', problem });
  }

  /** Until the next waking, in ms. */
  get wait(): number | null {
    const at = resolutionWakeAt(this.resolution);
    return at === null ? null : at - this.now;
  }

  /** Lets the time come that is due, and wakes. */
  wake(): readonly ResolutionDecision[] {
    this.now = resolutionWakeAt(this.resolution) ?? this.now;
    return this.on({ type: 'woke' });
  }
}

function asked(name = new Name()): Name {
  expect(name.wake()).toEqual([{ type: 'ask' }]);
  return name;
}

const changed = (...members: string[]): ResolutionDecision => ({ type: 'changed', members });

describe('a name', () => {
  it('FND-05: is asked for at once, and again 30 s after each answer', () => {
    const name = new Name();
    expect(name.wait).toBe(0);
    asked(name);
    name.now += 70;
    expect(name.answered(['10.0.0.1'])).toEqual([changed('10.0.0.1')]);
    expect(name.wait).toBe(30_000);
    name.now += 29_999;
    expect(name.on({ type: 'woke' })).toEqual([]);
    name.now += 1;
    expect(name.on({ type: 'woke' })).toEqual([{ type: 'ask' }]);
  });

  it('FND-06: a lost connection asks again, at once if 5 s have passed since the last look-up', () => {
    const name = asked();
    name.answered(['10.0.0.1']);
    name.now += 5000;
    expect(name.on({ type: 'wanted' })).toEqual([{ type: 'ask' }]);
  });

  it('FND-06: else when they have, however many are lost', () => {
    const name = asked();
    name.answered(['10.0.0.1']);
    name.now += 2000;
    for (let i = 0; i < 100; i += 1) expect(name.on({ type: 'wanted' })).toEqual([]);
    expect(name.wait).toBe(3000);
    expect(name.wake()).toEqual([{ type: 'ask' }]);
    name.answered(['10.0.0.1']);
    expect(name.wait).toBe(30_000);
  });

  it('FND-06: one that is lost during a look-up asks again after it: the answer may be older than the loss', () => {
    const name = asked();
    name.now += 1000;
    expect(name.on({ type: 'wanted' })).toEqual([]);
    name.answered(['10.0.0.1']);
    expect(name.wait).toBe(4000);
  });

  it('FND-06: look-ups for losses that bring nothing new come less and less often, as often as the refresh at last', () => {
    const name = asked();
    name.answered(['10.0.0.1']);
    const waits: (number | null)[] = [];
    for (let i = 0; i < 5; i += 1) {
      name.on({ type: 'wanted' });
      waits.push(name.wait);
      name.wake();
      name.answered(['10.0.0.1']);
    }
    expect(waits).toEqual([5000, 10_000, 20_000, 30_000, 30_000]);
    // One that was not wanted says that all is well again.
    name.wake();
    name.answered(['10.0.0.1']);
    name.on({ type: 'wanted' });
    expect(name.wait).toBe(5000);
    name.wake();
    name.answered(['10.0.0.1']);
    name.on({ type: 'wanted' });
    expect(name.wait).toBe(10_000);
    name.wake();
    name.answered(['10.0.0.2']);
    name.on({ type: 'wanted' });
    expect(name.wait).toBe(5000);
  });

  it('FND-06: a loss while a look-up fails is not forgotten, and puts nothing off', () => {
    const name = asked();
    name.answered(['10.0.0.1']);
    name.wake();
    name.on({ type: 'wanted' });
    name.failed();
    expect(name.wait).toBe(1000);
    name.wake();
    name.answered(['10.0.0.1']);
    expect(name.wait).toBe(30_000);
  });

  it('a loss never puts off what is due sooner', () => {
    const name = asked();
    name.failed();
    expect(name.wait).toBe(1000);
    name.on({ type: 'wanted' });
    expect(name.wait).toBe(1000);
  });

  it('asked for by hand is asked for at once, and once at a time', () => {
    const name = asked();
    name.answered(['10.0.0.1']);
    expect(name.on({ type: 'asked' })).toEqual([{ type: 'ask' }]);
    expect(name.on({ type: 'asked' })).toEqual([]);
  });
});

describe('an answer', () => {
  it('FND-07: that holds the same members in another order changes nothing', () => {
    const name = asked();
    name.answered(['10.0.0.1', '10.0.0.2', '10.0.0.3']);
    name.wake();
    expect(name.answered(['10.0.0.3', '10.0.0.1', '10.0.0.2'])).toEqual([]);
  });

  it('FND-07: keeps the places of members that stay; new ones come last', () => {
    const name = asked();
    name.answered(['10.0.0.1', '10.0.0.2', '10.0.0.3']);
    name.wake();
    expect(name.answered(['10.0.0.4', '10.0.0.3', '10.0.0.1'])).toEqual([changed('10.0.0.1', '10.0.0.3', '10.0.0.4')]);
  });

  it('FND-07: names each member once; an IPv4-mapped address is the IPv4 one', () => {
    const answer = ['10.0.0.1', '::FFFF:10.0.0.1', '10.0.0.1', '2001:DB8::1', '2001:db8::1', '::ffff:1:2'];
    expect(asked().answered(answer)).toEqual([changed('10.0.0.1', '2001:db8::1', '::ffff:1:2')]);
  });

  it('FND-09: without addresses is an error: the last good members stay', () => {
    const name = asked();
    name.answered(['10.0.0.1']);
    name.wake();
    expect(name.answered([])).toEqual([{ type: 'trouble', problem: 'the name has no addresses' }]);
    expect(name.resolution.members).toEqual(['10.0.0.1']);
    expect(name.wait).toBe(1000);
  });

  it('FND-10: for one family alone leaves the members of the other', () => {
    const name = asked();
    name.answered(['10.0.0.1', '2001:db8::1', '2001:db8::2']);
    name.wake();
    const unsure = { version: 6, problem: 'the DNS server failed (SERVFAIL)' } as const;
    const problem = 'of IPv6 addresses: the DNS server failed (SERVFAIL)';
    expect(name.answered(['10.0.0.2'], unsure)).toEqual([
      changed('2001:db8::1', '2001:db8::2', '10.0.0.2'),
      { type: 'trouble', problem },
    ]);
    // Servers that never answer for a family are no reason to hurry.
    expect(name.wait).toBe(30_000);
    name.wake();
    expect(name.answered(['10.0.0.2'], unsure)).toEqual([]);
    name.wake();
    expect(name.answered(['10.0.0.2'])).toEqual([changed('10.0.0.2'), { type: 'trouble', problem: null }]);
  });

  it('with more than 1000 addresses gives the first 1000, and says so', () => {
    const addresses = Array.from({ length: mostMembers + 1 }, (_, at) => `10.0.${at >> 8}.${at & 255}`);
    const [change, trouble] = asked().answered(addresses);
    expect(change).toEqual(changed(...addresses.slice(0, mostMembers)));
    expect(trouble).toEqual({ type: 'trouble', problem: 'more than 1000 addresses: the others are not used' });
  });
});

describe('a failed look-up', () => {
  it('FND-08: keeps the last good members, is told once, and its end is told', () => {
    const name = asked();
    name.answered(['10.0.0.1', '10.0.0.2']);
    name.wake();
    expect(name.failed()).toEqual([{ type: 'trouble', problem: 'no such name' }]);
    name.wake();
    expect(name.failed()).toEqual([]);
    expect(name.resolution.members).toEqual(['10.0.0.1', '10.0.0.2']);
    name.wake();
    expect(name.answered(['10.0.0.1', '10.0.0.2'])).toEqual([{ type: 'trouble', problem: null }]);
  });

  it('another reason is told too', () => {
    const name = asked();
    name.failed('no answer from the DNS server');
    name.wake();
    expect(name.failed('no such name')).toEqual([{ type: 'trouble', problem: 'no such name' }]);
  });

  it('FND-08: is made good after 1 s, × 1.6, up to the refresh; after an answer from the start', () => {
    const name = asked();
    const waits: number[] = [];
    for (let i = 0; i < 10; i += 1) {
      name.failed();
      waits.push(Math.round(name.wait ?? -1));
      name.wake();
    }
    expect(waits).toEqual([1000, 1600, 2560, 4096, 6554, 10_486, 16_777, 26_844, 30_000, 30_000]);
    name.answered(['10.0.0.1']);
    name.wake();
    name.failed();
    expect(name.wait).toBe(1000);
  });

  it('FND-08: give or take a fifth', () => {
    for (const [random, wait] of [
      [0, 800],
      [0.999_999, 1200],
    ] as const) {
      const name = asked();
      name.random = random;
      name.failed();
      expect(name.wait).toBeCloseTo(wait, 2);
    }
  });
});

describe('a look-up that brings nothing', () => {
  it('FND-11: is told after 10 s, and goes on alone', () => {
    const name = asked();
    expect(name.wait).toBe(10_000);
    expect(name.wake()).toEqual([{ type: 'trouble', problem: 'no answer for 10 s' }]);
    expect(name.wait).toBeNull();
    name.now += 600_000;
    expect(name.on({ type: 'wanted' })).toEqual([]);
    expect(name.on({ type: 'woke' })).toEqual([]);
    expect(name.answered(['10.0.0.1'])).toEqual([changed('10.0.0.1'), { type: 'trouble', problem: null }]);
  });
});
