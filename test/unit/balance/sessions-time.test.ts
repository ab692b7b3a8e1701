import { describe, expect, it } from 'vitest';
import { a, asked, b, held, served, sessionRig } from './session-rig.js';

describe('the time of a session', () => {
  it('SES-10: is over at the millisecond of its idle time, and the call that finds that begins a new one', () => {
    const { sessions } = sessionRig({ ttl: 1000 });
    served(sessions, 'k', a, 5);
    served(sessions, 'other', a, 5);
    expect(asked(sessions, 'k', 1004)).toBe(a);
    expect(asked(sessions, 'other', 1005)).toBe('none');
    served(sessions, 'other', b, 1005);
    expect(asked(sessions, 'other', 1006)).toBe(b);
    expect(sessions.stats(1006).outcomes).toMatchObject({ expired: 2, created: 3, lost: 0 });
  });

  it('SES-10: has no error left to tell when the backend went after it was over', () => {
    const { sessions, presence } = sessionRig({ ttl: 1000 });
    served(sessions, 'k', a, 0);
    presence.set('a', 'gone');
    expect(asked(sessions, 'k', 1000)).toBe('none');
    expect(sessions.stats(1000).outcomes).toMatchObject({ expired: 1, lost: 0 });
  });

  it('SES-11: slides with each call that reached the backend, and with no other', () => {
    const { sessions } = sessionRig({ ttl: 1000 });
    served(sessions, 'k', a, 0);
    for (const now of [900, 1800]) {
      const hold = held(sessions.find('k', now));
      hold.reached(now);
      hold.ended(now);
    }
    expect(asked(sessions, 'k', 2700)).toBe(a);
    expect(asked(sessions, 'k', 2799)).toBe(a);
    expect(asked(sessions, 'k', 2800)).toBe('none');
  });

  it('SES-12: does not run while a call is open, and begins anew at the end of one that reached the backend', () => {
    const { sessions } = sessionRig({ ttl: 1000 });
    const stream = held(sessions.claim('k', a, 0));
    stream.reached(1);
    expect(asked(sessions, 'k', 50_000)).toBe(a);
    expect(sessions.stats(50_000).size).toBe(1);
    stream.ended(60_000);
    expect(asked(sessions, 'k', 60_999)).toBe(a);
    expect(asked(sessions, 'k', 61_000)).toBe('none');
  });

  it('SES-12: is over at once after an open call that never reached the backend', () => {
    const { sessions } = sessionRig({ ttl: 1000 });
    served(sessions, 'k', a, 0);
    const waiting = held(sessions.find('k', 500));
    expect(asked(sessions, 'k', 1500)).toBe(a);
    waiting.ended(1600);
    expect(asked(sessions, 'k', 1600)).toBe('none');
  });

  it('SES-13: is over at the millisecond of sessionMaxAge, used or not; off unless it is set', () => {
    const { sessions } = sessionRig({ ttl: 1000, maxAge: 2500 });
    const unlimited = sessionRig({ ttl: 1000 }).sessions;
    served(sessions, 'k', a, 0);
    served(unlimited, 'k', a, 0);
    for (const now of [900, 1800, 2499]) {
      for (const table of [sessions, unlimited]) {
        const hold = held(table.find('k', now));
        hold.reached(now);
        hold.ended(now);
      }
    }
    const open = held(sessions.find('k', 2499));
    expect(asked(sessions, 'k', 2500)).toBe('none');
    expect(asked(unlimited, 'k', 2500)).toBe(a);
    open.ended(2600);
    expect(sessions.stats(2600)).toMatchObject({ size: 0, calls: 0, outcomes: { expired: 1 } });
  });
});

describe('a full table', () => {
  const minute = 60_000;

  it('SES-14: drops the session that was used least lately, once it has been idle for 60 s', () => {
    const { sessions } = sessionRig({ maxEntries: 3 });
    served(sessions, 'first', a, 0);
    served(sessions, 'second', a, 1);
    served(sessions, 'third', a, 2);
    expect(asked(sessions, 'first', 3)).toBe(a);
    expect(asked(sessions, 'new', minute)).toBe('full');
    expect(asked(sessions, 'new', minute + 1)).toBe('none');
    served(sessions, 'new', b, minute + 1);
    expect(['first', 'third', 'new'].map((key) => asked(sessions, key, minute + 1))).toEqual([a, a, b]);
    expect(sessions.stats(minute + 1)).toMatchObject({ size: 3, outcomes: { evicted: 1, refused: 1 } });
  });

  it('SES-15: refuses new ids while every session is in use, and those in use stay as they are', () => {
    const { sessions } = sessionRig({ maxEntries: 2 });
    const open = held(sessions.claim('open', a, 0));
    const late = held(sessions.claim('late', a, 0));
    expect(asked(sessions, 'new', 10 * minute)).toBe('full');
    expect(sessions.claim('new', b, 10 * minute)).toBeNull();
    late.ended(10 * minute);
    expect(asked(sessions, 'new', 11 * minute - 1)).toBe('full');
    expect(asked(sessions, 'late', 11 * minute - 1)).toBe(a);
    expect(asked(sessions, 'new', 12 * minute - 1)).toBe('none');
    expect(held(sessions.claim('new', b, 12 * minute - 1)).backend).toBe(b);
    expect(asked(sessions, 'open', 12 * minute)).toBe(a);
    open.ended(12 * minute);
    expect(sessions.stats(12 * minute)).toMatchObject({ size: 2, outcomes: { evicted: 1, refused: 3 } });
  });

  it('takes the room of one that expired sooner than 60 s', () => {
    const { sessions } = sessionRig({ maxEntries: 1, ttl: 1000 });
    served(sessions, 'k', a, 0);
    expect(asked(sessions, 'new', 999)).toBe('full');
    expect(asked(sessions, 'new', 1000)).toBe('none');
    served(sessions, 'new', b, 1000);
    expect(sessions.stats(1000).outcomes).toMatchObject({ expired: 1, evicted: 0, refused: 1 });
  });

  it('is emptied of what expired as new ones come, without anybody asking for them', () => {
    const { sessions } = sessionRig({ ttl: 1000 });
    for (let at = 0; at < 100; at += 1) served(sessions, `old${at}`, a, 0);
    for (let at = 0; at < 50; at += 1) served(sessions, `new${at}`, a, 1000);
    expect(sessions.stats(1000)).toMatchObject({ size: 50, outcomes: { expired: 100, created: 150 } });
  });
});

describe('clearing by hand', () => {
  it('SES-18: drops all sessions, and calls in flight go on without one', () => {
    const { sessions } = sessionRig();
    const open = held(sessions.claim('open', a, 0));
    served(sessions, 'idle', a, 0);
    expect(sessions.clear()).toBe(2);
    expect(['open', 'idle'].map((key) => asked(sessions, key, 1))).toEqual(['none', 'none']);
    open.reached(2);
    open.ended(2);
    expect(sessions.stats(2)).toMatchObject({ size: 0, calls: 0, outcomes: { cleared: 2 } });
    served(sessions, 'idle', b, 3);
    expect(asked(sessions, 'idle', 4)).toBe(b);
  });
});

describe('the id of a session', () => {
  it('SES-19: is in nothing that the table gives out', () => {
    const { sessions, presence } = sessionRig({ maxEntries: 1 });
    const given: unknown[] = [sessions.find('secret', 0)];
    const hold = held(sessions.claim('secret', a, 0));
    given.push(hold.backend, sessions.find('other', 0), sessions.stats(0));
    presence.set('a', 'gone');
    given.push(sessions.find('secret', 0), sessions.clear());
    expect(JSON.stringify(given)).not.toContain('secret');
    expect(given.map((one) => (one !== null && typeof one === 'object' && 'kind' in one ? one.kind : '-'))).toContain(
      'lost',
    );
  });
});
