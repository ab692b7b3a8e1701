import { describe, expect, it } from 'vitest';
import type { Bounds, PickQuery } from '../../../src/balance/types.js';
import { hedging, retrying, ScriptedHealth, tiered, unguarded } from './health.js';
import { counts, picked, pool, query } from './pool.js';

/** What each of so many picks in a row comes to. */
function seen(backends: string, health: string, asked: PickQuery, count = 2, options = {}): string {
  const picker = tiered(new ScriptedHealth(health), options);
  const candidates = pool(backends);
  return Array.from({ length: count }, () => picked(picker.pick(candidates, asked))).join(' ');
}

/** Each tier by one backend of its own, best first. `retrying` with d tried. */
const members = [
  ['0, ready and clean', '', 'a', ''],
  ['1, ready with a recent failure', '', 'b', 'b:recent'],
  ['2, lapsed', '', 'c', 'c:lapsed'],
  ['2b, to be waited for', ':connecting', 'w', ''],
  ['3, tried', '', 't', ''],
  ['4, rate-limited', '', 'l', 'l:limited@5'],
  ['5, breached', '', 'r', 'r:breached'],
  ['5, parked', '', 'p', 'p:parked@5'],
  ['5, tried and breached', '', 'u', 'u:breached'],
  ['5, tried and parked', '', 'v', 'v:parked@1'],
] as const;

describe('the tiers of a retry', () => {
  const neighbours = members.slice(1).map((worse, at) => [members[at] ?? worse, worse] as const);

  it.each(neighbours)('BAL-01: %s comes before %s', (better, worse) => {
    const health = [better[3], worse[3]].join(' ');
    for (const [one, other] of [
      [better, worse],
      [worse, better],
    ] as const) {
      expect(seen(`${one[2]}${one[1]} ${other[2]}${other[1]}`, health, retrying('tuv'))).toBe(
        `${better[2]} ${better[2]}`,
      );
    }
  });

  it.each(members)('BAL-01: the members of tier %s are picked where there is nobody else', (_, link, id, health) => {
    expect(seen(`${id}${link} x:backoff`, health, retrying('tuv'), 1)).toBe(id);
  });

  it.each(['clean', 'recent', 'lapsed', 'breached', 'limited@5', 'parked@5'])(
    'BAL-02: of two that are %s the one that takes a stream now comes first',
    (standing) => {
      const health = `a:${standing} b:${standing}`;
      for (const link of ['busy', 'idle', 'connecting']) expect(seen(`a:${link} b`, health, retrying('x'))).toBe('b b');
    },
  );

  it('BAL-03: one in connect backoff is in no tier, however it stands, and one that is full in none either', () => {
    expect(seen('a:backoff b', 'b:parked@9', retrying('b'), 1)).toBe('b');
    expect(seen('a:backoff', 'a:lapsed', query(), 1)).toBe('none');
    expect(seen('a:full b', 'b:parked@9', query(), 1)).toBe('b');
    expect(seen('a:full b:backoff', 'a:lapsed', query(), 1)).toBe('overloaded');
  });
});

describe('the tiers of a retry, in particular', () => {
  it('BAL-01: hold for one whose call has tried nobody yet, and leave the rotation alone', () => {
    expect(seen('a b', 'a:recent', retrying(''), 3)).toBe('b b b');
    const picker = tiered(new ScriptedHealth());
    const candidates = pool('a b c');
    const text = [query(), retrying(''), query()].map((asked) => picked(picker.pick(candidates, asked)));
    expect(text).toEqual(['a', 'a', 'b']);
  });

  it('BAL-01: of those that were tried, one that is well comes before one that has lapsed', () => {
    for (const health of ['a:lapsed', ''])
      expect(seen('a b', health, retrying('ab'), 1)).toBe(health === '' ? 'a' : 'b');
  });
});

describe('the tiers of a first attempt', () => {
  it('BAL-04: tiers 0 and 1 are one: a recent failure costs no first attempts', () => {
    expect(counts(seen('a b', 'a:recent', query(), 10).replaceAll(' ', ''))).toEqual({ a: 5, b: 5 });
    const notCalm = seen('a b p', 'a:recent p:parked@9', query(), 10);
    expect(counts(notCalm.replaceAll(' ', ''))).toEqual({ a: 5, b: 5 });
  });

  it('BAL-01: with backends to be left alone it goes by turns of its own', () => {
    const picker = tiered(new ScriptedHealth());
    const candidates = pool('a b c');
    const led: PickQuery = { ...retrying('a'), cause: 'first' };
    expect([led, query(), led, query()].map((asked) => picked(picker.pick(candidates, asked)))).toEqual([
      'b',
      'a',
      'c',
      'b',
    ]);
  });

  it('BAL-05: a breached backend gets none while another is to be had, waited for or tried', () => {
    expect(seen('a b', 'a:breached', query())).toBe('b b');
    expect(seen('a b:connecting', 'a:breached', query())).toBe('b b');
    expect(seen('a b', 'a:breached', retrying('b'))).toBe('b b');
    expect(seen('a b', 'a:breached b:breached', query(), 4)).toBe('a b a b');
  });

  it('BAL-06: a parked one gets none while another is to be had; those that are left share evenly', () => {
    expect(counts(seen('a b c', 'b:parked@9', query(), 30).replaceAll(' ', ''))).toEqual({ a: 15, c: 15 });
  });
});

describe('probes', () => {
  it('BAL-07: a first attempt with a policy is given the lapsed backend before all others', () => {
    expect(seen('a b', 'b:lapsed', query(), 1)).toBe('b');
  });

  it('BAL-07: of two that lapsed, the one whose park ended first', () => {
    expect(seen('a b c', 'b:lapsed@7 c:lapsed@5', query(), 1)).toBe('c');
    expect(seen('a b c', 'b:lapsed@5 c:lapsed@7', query(), 1)).toBe('b');
  });

  it('BAL-07: a probe does not turn the rotation', () => {
    const health = new ScriptedHealth();
    const picker = tiered(health);
    const candidates = pool('a b c');
    let text = picked(picker.pick(candidates, query()));
    health.set('c:lapsed');
    text += picked(picker.pick(candidates, query()));
    health.set('c:probing');
    text += picked(picker.pick(candidates, query())) + picked(picker.pick(candidates, query()));
    expect(text).toBe('acba');
  });

  it('BAL-08: while the probe is in flight no other call comes there', () => {
    expect(seen('a b', 'b:probing', query(), 4)).toBe('a a a a');
    expect(seen('a b', 'b:probing', retrying('a'), 2)).toBe('a a');
  });

  it('BAL-09: a call without a policy is no probe until the grace is over, then it is given to it too', () => {
    expect(seen('a b', 'b:lapsed', unguarded, 3)).toBe('a a a');
    expect(seen('a b', 'b:lapsed', { ...retrying('a'), guarded: false })).toBe('a a');
    expect(seen('a b', 'b:lapsed+grace', unguarded, 1)).toBe('b');
  });

  it('BAL-10: a retry and a hedge are no probes while a ready one is untried, and are ones before they wait', () => {
    expect(seen('a b', 'b:lapsed', retrying('x'), 1)).toBe('a');
    expect(seen('a b', 'b:lapsed', hedging('x'), 1)).toBe('a');
    expect(seen('a:idle b', 'b:lapsed', hedging('x'), 1)).toBe('b');
    expect(seen('a:idle b', 'b:lapsed', { ...retrying('x'), cause: 'transparent' }, 1)).toBe('b');
  });

  it('BAL-07: no call waits for a connection to be a probe', () => {
    expect(seen('a b:connecting', 'b:lapsed', query(), 1)).toBe('a');
  });

  it('BAL-07: an exclude does not make a call less of a probe, a pin does', () => {
    const without = (id: string): Bounds => ({ only: null, strict: false, exclude: [id] });
    expect(seen('a b c', 'b:lapsed', { ...query(), bounds: without('c') }, 1)).toBe('b');
    expect(seen('a b c', 'b:lapsed', { ...query(), bounds: without('b') }, 1)).toBe('a');
    const group: Bounds = { only: 'g', strict: true, exclude: [] };
    expect(seen('g/1 g/2', 'g/2:lapsed', { ...query(), bounds: group }, 2)).toBe('g/1 g/1');
  });

  it('BAL-08: where it is alone, calls go there beside its probe', () => {
    expect(seen('a', 'a:probing', query(), 3)).toBe('a a a');
    expect(seen('a b', 'a:probing b:parked@50', unguarded, 3)).toBe('a a a');
  });
});

describe('a pool that is parked', () => {
  it('BAL-11: all are offered, the one whose park ends soonest first, and a retry goes on to the next', () => {
    const health = 'a:parked@30 b:parked@10 c:parked@20';
    expect(seen('a b c', health, query(), 2)).toBe('b b');
    expect(seen('a b c', health, retrying('b'), 1)).toBe('c');
    expect(seen('a b c', health, retrying('bc'), 1)).toBe('a');
    expect(seen('a b c', health, retrying('abc'), 1)).toBe('b');
  });

  it('BAL-11: parks that end together share', () => {
    expect(seen('a b c', 'a:parked@10 b:parked@10 c:parked@20', query(), 4)).toBe('a b a b');
    const health = new ScriptedHealth('a:parked@10 b:parked@10');
    const picker = tiered(health);
    const candidates = pool('a b');
    picker.pick(candidates, query());
    health.set('');
    expect(picked(picker.pick(candidates, query()))).toBe('a');
  });

  it.each(['parked@9', 'probing', 'lapsed', 'breached', 'limited@9', 'recent'])(
    'BAL-12: a pool of one is never refused: %s',
    (standing) => {
      for (const asked of [query(), unguarded, retrying('a'), hedging('a')]) {
        expect(seen('a', `a:${standing}`, asked, 2)).toBe('a a');
      }
      expect(seen('a', `a:${standing}`, { ...query(), bounds: { only: 'a', strict: true, exclude: [] } }, 1)).toBe('a');
    },
  );

  it('BAL-11: rate-limited ones come before those that are parked for failures, soonest first', () => {
    expect(seen('a b c', 'a:parked@1 b:limited@9 c:limited@8', query(), 2)).toBe('c c');
    expect(seen('a b c', 'a:parked@1 b:limited@9 c:limited@8', retrying('c'), 1)).toBe('b');
  });

  it('BAL-11: a retry prefers a tried healthy backend over an untried parked one', () => {
    expect(seen('a b', 'b:parked@9', retrying('a'), 2)).toBe('a a');
  });
});

describe('hedges', () => {
  it('BAL-13: go to a parked backend only when nothing else is in the pool', () => {
    expect(seen('a b', 'b:parked@9', hedging('a'), 1)).toBe('a');
    expect(seen('a b', 'b:limited@9', hedging('a'), 1)).toBe('a');
    expect(seen('a b', 'a:breached b:limited@9', hedging('a'), 1)).toBe('a');
    expect(seen('a:full b', 'b:parked@9', hedging('a'), 1)).toBe('overloaded');
    expect(seen('a:backoff b', 'b:parked@9', hedging('a'), 1)).toBe('b');
    expect(seen('a b', 'a:parked@1 b:parked@9', hedging('a'), 1)).toBe('b');
  });

  it('BAL-14: go where the call has been when every backend was tried', () => {
    expect(seen('a b', '', hedging('ab'), 2)).toBe('a b');
  });

  const distinct = { hedgeDistinct: true };

  it('BAL-15: with hedgeDistinct are skipped instead, and no retry is', () => {
    expect(seen('a b', '', hedging('a'), 1, distinct)).toBe('b');
    expect(seen('a b', '', hedging('ab'), 1, distinct)).toBe('skipped');
    expect(seen('a b:full', '', hedging('a'), 1, distinct)).toBe('skipped');
    expect(seen('a b:backoff', '', hedging('a'), 1, distinct)).toBe('skipped');
    expect(seen('a b', 'b:parked@9', hedging('a'), 1, distinct)).toBe('skipped');
    expect(seen('a b', '', retrying('ab'), 1, distinct)).toBe('a');
  });

  it('BAL-15: with hedgeDistinct tell a full pool and a pool that is down from one that is tried', () => {
    expect(seen('a:full b:full', '', hedging('a'), 1, distinct)).toBe('overloaded');
    expect(seen('a:full', '', hedging('a'), 1, distinct)).toBe('skipped');
    expect(seen('a:backoff b:backoff', '', hedging('a'), 1, distinct)).toBe('skipped');
    expect(seen('b:backoff', '', hedging('a'), 1, distinct)).toBe('none');
    expect(seen('a b', 'a:parked@1 b:parked@9', hedging('a'), 1, distinct)).toBe('skipped');
    expect(seen('a:backoff b', 'b:parked@9', hedging('a'), 1, distinct)).toBe('b');
  });
});

describe('priorities', () => {
  /** `a0 b1`: ids with their priorities. */
  function seenBy(text: string, links: string, health: string, asked: PickQuery, count = 2): string {
    const candidates = pool(links);
    for (const candidate of candidates) candidate.priority = Number(text[text.indexOf(candidate.id) + 1]);
    const picker = tiered(new ScriptedHealth(health));
    return Array.from({ length: count }, () => picked(picker.pick(candidates, asked))).join(' ');
  }

  it('BAL-16: the lowest number that has anybody usable gets all calls, by turns', () => {
    expect(seenBy('a1 b0 c0', 'a b c', '', query(), 4)).toBe('b c b c');
    expect(seenBy('a9 b3', 'a b', '', query())).toBe('b b');
  });

  it.each([
    ['is down', 'a:backoff b', ''],
    ['is full', 'a:full b', ''],
    ['is parked', 'a b', 'a:parked@9'],
    ['is rate-limited', 'a b', 'a:limited@9'],
    ['is breached', 'a b', 'a:breached'],
    ['is being probed', 'a b', 'a:probing'],
  ])('BAL-16: the next is used where it %s', (_, links, health) => {
    expect(seenBy('a0 b1', links, health, query())).toBe('b b');
  });

  it('BAL-16: one to be waited for, and one that was tried, is usable: the next is not used', () => {
    expect(seenBy('a0 b1', 'a:connecting b', '', query())).toBe('a a');
    expect(seenBy('a0 b1', 'a b', '', retrying('a'))).toBe('a a');
    expect(seenBy('a0 b1', 'a b', '', { ...query(), failed: pool('a').map(({ id }) => id) })).toBe('b b');
  });

  it('BAL-17: the rest is offered over all priorities, once none has anybody usable', () => {
    expect(seenBy('a0 b1', 'a b', 'a:parked@9 b:parked@5', query(), 1)).toBe('b');
    expect(seenBy('a0 b1', 'a b', 'a:parked@9 b:limited@50', query(), 1)).toBe('b');
  });

  it('BAL-18: a lapsed backend is probed where its priority is used or would be used before, else not', () => {
    expect(seenBy('a0 b1', 'a b', 'a:lapsed', query(), 1)).toBe('a');
    expect(seenBy('a0 b1', 'a b', 'b:lapsed', query(), 1)).toBe('a');
    expect(seenBy('a0 b1 c1', 'a:backoff b c', 'c:lapsed', query(), 1)).toBe('c');
    expect(seenBy('a0 b1', 'a b', 'a:parked@9 b:lapsed', query(), 1)).toBe('b');
    expect(seenBy('a1 b0 c0', 'a b c', 'a:lapsed@1 b:lapsed@5', query(), 1)).toBe('b');
    expect(seenBy('a1 b0 c2', 'a b c', 'a:lapsed@1 b:lapsed@5', query(), 1)).toBe('b');
  });
});

describe('pins and parks', () => {
  const pin = (only: string, strict = true): PickQuery => ({ ...query(), bounds: { only, strict, exclude: [] } });

  it('BAL-19: a strict pin’s parked backend is refused, with the end of its park', () => {
    const picker = tiered(new ScriptedHealth('a:parked@70'));
    expect(picker.pick(pool('a b'), pin('a'))).toEqual({ kind: 'parked', id: 'a', until: 70 });
  });

  it('BAL-19: with pinOnParked `try` it is tried', () => {
    expect(seen('a b', 'a:parked@70', pin('a'), 1, { pinOnParked: 'try' })).toBe('a');
  });

  it('BAL-20: it is tried once the park has lapsed, beside a probe too and without a policy', () => {
    expect(seen('a b', 'a:lapsed', { ...pin('a'), guarded: false }, 1)).toBe('a');
    expect(seen('a b', 'a:probing', { ...pin('a'), guarded: false }, 1)).toBe('a');
  });

  it('BAL-20: it is tried where every backend of the pool is parked or down, not where one has lapsed', () => {
    expect(seen('a b', 'a:parked@7 b:parked@9', pin('a'), 1)).toBe('a');
    expect(seen('a b:backoff', 'a:parked@7', pin('a'), 1)).toBe('a');
    expect(seen('a b', 'a:parked@7 b:lapsed', pin('a'), 1)).toBe('parked');
    expect(seen('a b', 'a:parked@7 b:limited@9', pin('a'), 1)).toBe('parked');
    expect(seen('a b:full', 'a:parked@7', pin('a'), 1)).toBe('parked');
  });

  it('BAL-21: a rate-limited or a breached one is tried', () => {
    expect(seen('a b', 'a:limited@9', pin('a'), 1)).toBe('a');
    expect(seen('a b', 'a:breached', pin('a'), 1)).toBe('a');
  });

  it('BAL-22: of a group the member that is not parked is used, even one that was tried or is breached', () => {
    expect(seen('g/1 g/2 a', 'g/1:parked@5', pin('g'))).toBe('g/2 g/2');
    expect(seen('g/1 g/2 a', 'g/1:parked@5 g/2:breached', pin('g'), 1)).toBe('g/2');
    const again = { ...pin('g'), tried: pool('g/2').map(({ id }) => id), cause: 'retry' as const };
    expect(seen('g/1 g/2 a', 'g/1:parked@5 g/2:breached', again, 1)).toBe('g/2');
  });

  it('BAL-22: a group that is all parked is refused with the soonest end; one with a full member is busy', () => {
    const picker = tiered(new ScriptedHealth('g/1:parked@9 g/2:parked@4'));
    expect(picker.pick(pool('g/1 g/2 a'), pin('g'))).toEqual({ kind: 'parked', id: 'g/2', until: 4 });
    expect(seen('g/1 g/2:full a', 'g/1:parked@9', pin('g'), 1)).toBe('overloaded');
  });

  it('BAL-23: a pin that may go elsewhere finds nobody at a parked backend or beside its probe', () => {
    expect(seen('a b', 'a:parked@9', pin('a', false), 1)).toBe('none');
    expect(seen('a b', 'a:probing', pin('a', false), 1)).toBe('none');
    expect(seen('a b', 'a:lapsed', { ...pin('a', false), guarded: false }, 1)).toBe('a');
  });

  it('BAL-19: one that is down as well is down', () => {
    expect(seen('a:backoff b', 'a:parked@9', pin('a'), 1)).toBe('none');
  });
});

describe('what a pick asks of health', () => {
  it('a first attempt in calm asks for no backend’s standing', () => {
    const health = new ScriptedHealth('a:recent');
    const picker = tiered(health);
    const candidates = pool('a b');
    expect(picked(picker.pick(candidates, query())) + picked(picker.pick(candidates, query()))).toBe('ab');
    expect(health.asked).toBe(0);
    picker.pick(candidates, retrying('a'));
    expect(health.asked).toBeGreaterThan(0);
  });

  it('the same backend is the same value, whichever way it was picked', () => {
    const health = new ScriptedHealth();
    const picker = tiered(health);
    const candidates = pool('a');
    const pick = picker.pick(candidates, query());
    for (const text of ['a:parked@9', 'a:lapsed', 'a:breached']) {
      health.set(text);
      expect(picker.pick(candidates, query())).toBe(pick);
    }
  });
});
