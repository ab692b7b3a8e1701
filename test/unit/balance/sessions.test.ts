import { describe, expect, it } from 'vitest';
import { backendId } from '../../../src/grpc/backend-id.js';
import { a, asked, b, held, served, sessionRig } from './session-rig.js';

describe('the first call of a session', () => {
  it('SES-01: ties the id to its backend, and later calls go there', () => {
    const { sessions } = sessionRig();
    expect(sessions.find('k', 0)).toEqual({ kind: 'none' });
    const hold = held(sessions.claim('k', a, 0));
    expect([hold.backend, hold.fresh]).toEqual([a, true]);
    hold.reached(5);
    hold.ended(5);
    const later = held(sessions.find('k', 10));
    expect([later.backend, later.fresh]).toEqual([a, false]);
    expect(sessions.stats(10)).toMatchObject({ size: 1, calls: 1, outcomes: { created: 1, used: 1 } });
  });

  it('SES-02: 24 first calls at once get one backend, also those whose own pick was another', () => {
    const { sessions } = sessionRig();
    const found = Array.from({ length: 24 }, () => sessions.find('k', 0));
    expect(new Set(found.map(({ kind }) => kind))).toEqual(new Set(['none']));
    const holds = found.map((_, at) => held(sessions.claim('k', backendId(`b${at}`), 0)));
    expect(new Set(holds.map(({ backend }) => backend))).toEqual(new Set(['b0']));
    expect(sessions.stats(0)).toMatchObject({ size: 1, calls: 24, outcomes: { created: 1, used: 23 } });
    for (const hold of holds) hold.ended(0);
    expect(sessions.stats(0).calls).toBe(0);
  });

  it('other ids have backends of their own (control)', () => {
    const { sessions } = sessionRig();
    served(sessions, 'k', a, 0);
    served(sessions, 'other', b, 0);
    expect([asked(sessions, 'k', 0), asked(sessions, 'other', 0)]).toEqual([a, b]);
  });
});

describe('a session', () => {
  it('SES-05: keeps its backend whatever its calls come to: unreached, busy, refused, or answered by another', () => {
    const { sessions } = sessionRig();
    served(sessions, 'k', a, 0);
    for (let now = 1; now <= 5; now += 1) {
      const hold = held(sessions.find('k', now));
      expect([hold.refused(), hold.release()]).toEqual([false, false]);
      hold.ended(now);
    }
    expect(asked(sessions, 'k', 6)).toBe(a);
    expect(sessions.stats(6).outcomes).toMatchObject({ created: 1, used: 6, lost: 0, released: 0 });
  });

  it('SES-06: whose backend is gone is lost once, and the call after that begins a new one', () => {
    const { sessions, presence } = sessionRig();
    served(sessions, 'k', a, 0);
    presence.set('a', 'gone');
    expect(sessions.find('k', 1)).toEqual({ kind: 'lost', backend: a });
    expect(sessions.find('k', 1)).toEqual({ kind: 'none' });
    served(sessions, 'k', b, 1);
    expect(asked(sessions, 'k', 2)).toBe(b);
    expect(sessions.stats(2).outcomes).toMatchObject({ lost: 1, created: 2 });
  });

  it('SES-07: keeps a backend that is parked or disconnected for 60 s, and is lost a millisecond later', () => {
    const { sessions, presence } = sessionRig();
    served(sessions, 'k', a, 0);
    presence.set('a', 1000);
    expect(asked(sessions, 'k', 61_000)).toBe(a);
    expect(asked(sessions, 'k', 61_001)).toBe('lost');
    expect(asked(sessions, 'k', 61_001)).toBe('none');
  });

  it('SES-08: keeps a backend that is back in time, however often it was away', () => {
    const { sessions, presence } = sessionRig();
    served(sessions, 'k', a, 0);
    for (let away = 0; away < 5; away += 1) {
      presence.set('a', away * 60_000);
      expect(asked(sessions, 'k', away * 60_000 + 59_999)).toBe(a);
      presence.delete('a');
      expect(asked(sessions, 'k', away * 60_000 + 60_000)).toBe(a);
    }
  });

  it('SES-09: with sessionLostAfter 0 is lost by the first refusal, not by a park that is passed over', () => {
    const { sessions, presence } = sessionRig({ lostAfter: 0 });
    served(sessions, 'k', a, 0);
    presence.set('a', 0);
    const tried = held(sessions.find('k', 500_000));
    tried.ended(500_000);
    const hold = held(sessions.find('k', 500_001));
    expect([hold.refused(), hold.refused()]).toEqual([true, false]);
    hold.ended(500_001);
    expect(asked(sessions, 'k', 500_001)).toBe('none');
    expect(sessions.stats(500_001)).toMatchObject({ size: 0, calls: 0, outcomes: { lost: 1 } });
  });

  it('with sessionLostAfter 0 is lost with its backend all the same', () => {
    const { sessions, presence } = sessionRig({ lostAfter: 0 });
    served(sessions, 'k', a, 0);
    presence.set('a', 'gone');
    expect(asked(sessions, 'k', 1)).toBe('lost');
  });

  it('that is lost or cleared is over for calls that still have a hold of it, and they touch no new one', () => {
    const { sessions, presence } = sessionRig();
    const old = held(sessions.claim('k', a, 0));
    presence.set('a', 'gone');
    expect(asked(sessions, 'k', 1)).toBe('lost');
    served(sessions, 'k', b, 1);
    expect([old.fresh, old.release(), old.refused()]).toEqual([false, false, false]);
    old.reached(1_000_000);
    old.ended(1_000_000);
    expect(asked(sessions, 'k', 1 + 1_799_999)).toBe(b);
    expect(asked(sessions, 'k', 1 + 1_800_000)).toBe('none');
    expect(sessions.stats(2_000_000)).toMatchObject({ size: 0, calls: 0 });
  });
});

describe('a claim that may be given back', () => {
  it('SES-16: is released when the first call never came to its backend: the call is placed again, and that stands', () => {
    const { sessions } = sessionRig();
    const hold = held(sessions.claim('k', a, 0));
    expect(hold.release()).toBe(true);
    expect([hold.fresh, hold.release()]).toEqual([false, false]);
    hold.ended(1);
    expect(sessions.stats(1)).toMatchObject({ size: 0, calls: 0 });
    expect(sessions.find('k', 1)).toEqual({ kind: 'none' });
    const second = held(sessions.claim('k', b, 1));
    expect(second.fresh).toBe(true);
    second.reached(2);
    second.ended(2);
    expect(asked(sessions, 'k', 3)).toBe(b);
    expect(sessions.stats(3).outcomes).toMatchObject({ created: 2, released: 1 });
  });

  it('SES-17: stands once another call has used it, also after that one has ended', () => {
    const { sessions } = sessionRig();
    const hold = held(sessions.claim('k', a, 0));
    const other = held(sessions.find('k', 0));
    other.ended(0);
    expect([hold.fresh, hold.release(), other.release()]).toEqual([false, false, false]);
    expect(asked(sessions, 'k', 1)).toBe(a);
  });

  it('SES-17: stands once the backend was reached', () => {
    const { sessions } = sessionRig();
    const hold = held(sessions.claim('k', a, 0));
    hold.reached(0);
    expect([hold.fresh, hold.release()]).toEqual([false, false]);
    hold.ended(0);
    expect(asked(sessions, 'k', 1)).toBe(a);
  });

  it('stands after the end of the first call, whatever that came to', () => {
    const { sessions } = sessionRig();
    const hold = held(sessions.claim('k', a, 0));
    hold.ended(1);
    hold.ended(1);
    expect([hold.fresh, hold.release()]).toEqual([false, false]);
    expect(asked(sessions, 'k', 2)).toBe(a);
    expect(sessions.stats(2).calls).toBe(0);
  });
});
