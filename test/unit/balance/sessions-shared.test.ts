import { describe, expect, it } from 'vitest';
import { createSharedSessions, type KeptClaim, type SessionSettings } from '../../../src/balance/sessions.js';
import { a, b, held, sessionRig, usual } from './session-rig.js';

/*
 * The tables of several processes, each for itself (D31): what they do together is in test/unit/workers.
 */

function table(role: 'owner' | 'copies', settings: Partial<SessionSettings> = {}) {
  const heard: string[] = [];
  const { presence } = sessionRig();
  const sessions = createSharedSessions({ ...usual, ...settings }, (backend) => presence.get(backend) ?? null, role, {
    onBusy: ({ key, claim }) => heard.push(`${key} ${claim} busy`),
    onIdle: ({ key, claim }) => heard.push(`${key} ${claim} idle`),
    onDropped: ({ key, claim }, outcome) => heard.push(`${key} ${claim} ${outcome}`),
  });
  return { sessions, presence, heard };
}

function kept(claim: number, changes: Partial<KeptClaim> = {}): KeptClaim {
  return { backend: a, claim, age: 0, idle: 0, fresh: false, ...changes };
}

describe('a copy of a session', () => {
  it('WRK-05: is found as a session of one process is, and counts its use alone', () => {
    const { sessions, heard } = table('copies');
    const hold = held(sessions.adopt('k', kept(7, { fresh: true }), 0));
    expect([hold.backend, hold.fresh, hold.claim]).toEqual([a, true, 7]);
    const other = held(sessions.find('k', 1));
    expect([other.backend, other.fresh, hold.fresh]).toEqual([a, false, false]);
    hold.ended(2);
    other.ended(3);
    expect(heard).toEqual(['k 7 busy', 'k 7 idle']);
    expect(sessions.stats(3)).toMatchObject({ size: 0, calls: 0, outcomes: { created: 0, used: 1 } });
  });

  it('WRK-07: has the times of its owner', () => {
    const { sessions } = table('copies', { ttl: 1000, maxAge: 5000 });
    held(sessions.adopt('k', kept(1, { age: 4000, idle: 900 }), 10_000)).ended(10_000);
    expect(sessions.find('k', 10_100).kind).toBe('none');
    const hold = held(sessions.adopt('k', kept(1, { age: 4200, idle: 0 }), 10_200));
    expect(sessions.claimOf('k', 10_999)).toBe(1);
    expect(sessions.claimOf('k', 11_000)).toBe(null);
    hold.ended(11_000);
  });

  it('WRK-07: gives way to another claim, whose calls are not those of the one before', () => {
    const { sessions, heard } = table('copies');
    const former = held(sessions.adopt('k', kept(1), 0));
    const hold = held(sessions.adopt('k', kept(2, { backend: b }), 1));
    former.ended(2);
    expect([hold.backend, sessions.peek('k')?.calls]).toEqual([b, 1]);
    hold.ended(3);
    expect(heard).toEqual(['k 1 busy', 'k 2 busy', 'k 2 idle']);
  });

  it('WRK-07: is lost by its backend, unless it was claimed for this very call', () => {
    const { sessions, presence, heard } = table('copies');
    presence.set('a', 'gone');
    expect(held(sessions.adopt('k', kept(1, { fresh: true }), 0)).backend).toBe(a);
    expect(sessions.adopt('l', kept(2), 0)).toEqual({ kind: 'lost', backend: a });
    expect(heard).toEqual(['k 1 busy', 'l 2 lost']);
    expect(sessions.find('l', 0)).toEqual({ kind: 'none' });
  });

  it('WRK-07: makes room for another by going, however fresh it is, and not while it is in use', () => {
    const { sessions } = table('copies', { maxEntries: 1 });
    held(sessions.adopt('k', kept(1), 0)).ended(0);
    held(sessions.adopt('l', kept(2), 1));
    expect([sessions.claimOf('k', 1), sessions.find('m', 1).kind]).toEqual([null, 'none']);
    held(sessions.adopt('m', kept(3), 2));
    expect([sessions.claimOf('l', 2), sessions.claimOf('m', 2)]).toEqual([2, 3]);
  });
});

describe('the owner of sessions', () => {
  it('WRK-05: gives each claim a number of its own, and leaves the use of sessions to be counted by others', () => {
    const { sessions } = table('owner');
    const claims = ['k', 'l'].map((key) => held(sessions.claim(key, a, 0)).claim);
    expect(new Set(claims).size).toBe(2);
    sessions.lose('k');
    expect(claims).not.toContain(held(sessions.claim('k', a, 0)).claim);
    held(sessions.find('k', 0));
    expect(sessions.stats(0).outcomes).toMatchObject({ created: 3, lost: 1, used: 0 });
  });

  it('WRK-08: has a session live on that was used elsewhere, and not by what was before', () => {
    const { sessions } = table('owner', { ttl: 1000 });
    held(sessions.claim('k', a, 0)).ended(0);
    sessions.slide('k', 900);
    sessions.slide('k', 500);
    sessions.slide('other', 900);
    sessions.lose('other');
    sessions.forget('other');
    expect([sessions.claimOf('k', 1899), sessions.claimOf('k', 1900)]).toEqual([1, null]);
  });

  it('WRK-07: forgets without a word', () => {
    const { sessions, heard } = table('owner');
    held(sessions.claim('k', a, 0)).ended(0);
    const hold = held(sessions.claim('l', a, 0));
    sessions.forget('k');
    sessions.forget('l');
    hold.ended(1);
    expect(heard).toEqual(['k 1 busy', 'k 1 idle', 'l 2 busy']);
    expect(sessions.stats(1)).toMatchObject({ size: 0, calls: 0, outcomes: { expired: 0, cleared: 0 } });
  });
});
