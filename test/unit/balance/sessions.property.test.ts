import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { SessionHold, SessionOutcome } from '../../../src/balance/sessions.js';
import { type BackendId, backendId } from '../../../src/grpc/backend-id.js';
import { sessionRig } from './session-rig.js';

/*
 * The table against a second reckoning that keeps everything in one plain list and looks through it each time.
 */

/** A run is done again with HEDGEROW_SEED set to what a failure prints. */
const seed = Number(process.env['HEDGEROW_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const numRuns = Number(process.env['HEDGEROW_RUNS'] ?? 500);

const settings = { ttl: 150_000, maxAge: 600_000, maxEntries: 4, lostAfter: 50_000 };

interface Entry {
  readonly key: string;
  readonly backend: BackendId;
  readonly createdAt: number;
  usedAt: number;
  touchedAt: number;
  calls: number;
  fresh: boolean;
}

interface Call {
  readonly hold: SessionHold;
  readonly entry: Entry;
  readonly first: boolean;
  reached: boolean;
  over: boolean;
}

class Reckoning {
  /** By the last touch. */
  entries: Entry[] = [];
  readonly counts: Record<SessionOutcome, number> = {
    created: 0,
    used: 0,
    expired: 0,
    lost: 0,
    evicted: 0,
    refused: 0,
    released: 0,
    cleared: 0,
  };

  count(outcome: SessionOutcome, times = 1): void {
    this.counts[outcome] += times;
  }

  remove(entry: Entry, outcome: SessionOutcome): void {
    this.entries = this.entries.filter((one) => one !== entry);
    this.count(outcome);
  }

  touch(entry: Entry, now: number): void {
    entry.touchedAt = now;
    if (this.entries.includes(entry)) this.entries = [...this.entries.filter((one) => one !== entry), entry];
  }

  isOver({ calls, usedAt, createdAt }: Entry, now: number): boolean {
    return (calls === 0 && now - usedAt >= settings.ttl) || now - createdAt >= settings.maxAge;
  }

  oldest(): Entry | undefined {
    return this.entries.find(({ calls }) => calls === 0);
  }

  sweep(now: number, most: number): void {
    for (let i = 0; i < most; i += 1) {
      const oldest = this.oldest();
      if (oldest === undefined || !this.isOver(oldest, now)) return;
      this.remove(oldest, 'expired');
    }
  }

  find(key: string, now: number, lost: (backend: string) => boolean): Entry | 'none' | 'lost' | 'full' {
    const entry = this.entries.find((one) => one.key === key);
    if (entry !== undefined && !this.isOver(entry, now)) {
      if (!lost(entry.backend)) return entry;
      this.remove(entry, 'lost');
      return 'lost';
    }
    if (entry !== undefined) this.remove(entry, 'expired');
    const oldest = this.oldest();
    const room =
      this.entries.length < settings.maxEntries ||
      (oldest !== undefined && (now - oldest.touchedAt >= 60_000 || this.isOver(oldest, now)));
    if (room) return 'none';
    this.count('refused');
    return 'full';
  }

  claim(key: string, backend: BackendId, now: number): Entry {
    this.sweep(now, 2);
    const oldest = this.oldest();
    if (this.entries.length >= settings.maxEntries && oldest !== undefined) this.remove(oldest, 'evicted');
    const entry = { key, backend, createdAt: now, usedAt: now, touchedAt: now, calls: 1, fresh: true };
    this.entries.push(entry);
    this.count('created');
    return entry;
  }
}

type Step = { readonly wait: number; readonly pick: number } & (
  | { readonly kind: 'call'; readonly key: string; readonly backend: BackendId }
  | { readonly kind: 'reached' | 'ended' | 'release' }
  | { readonly kind: 'presence'; readonly backend: BackendId; readonly state: 'gone' | 'away' | 'back' }
  | { readonly kind: 'clear' | 'stats' }
);

const backend = fc.constantFrom('a', 'b').map(backendId);
const time = { wait: fc.constantFrom(0, 0, 0, 1, 9999, 20_000, 50_001, 60_000), pick: fc.nat(20) };
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      ...time,
      kind: fc.constant('call' as const),
      key: fc.constantFrom('p', 'q', 'r', 's', 't', 'u'),
      backend,
    }),
  },
  { weight: 4, arbitrary: fc.record({ ...time, kind: fc.constantFrom('reached' as const, 'release' as const) }) },
  { weight: 9, arbitrary: fc.record({ ...time, kind: fc.constant('ended' as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      ...time,
      kind: fc.constant('presence' as const),
      backend,
      state: fc.constantFrom('gone' as const, 'away' as const, 'back' as const, 'back' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ ...time, kind: fc.constantFrom('clear' as const, 'stats' as const) }) },
);

function play(steps: readonly Step[], told: (outcome: SessionOutcome, times: number) => void): void {
  const { sessions, presence } = sessionRig(settings);
  const reckoning = new Reckoning();
  const calls: Call[] = [];
  let now = 1000;
  const lost = (name: string): boolean => {
    const since = presence.get(name) ?? null;
    return since === 'gone' || (since !== null && now - since > settings.lostAfter);
  };
  const begin = (hold: SessionHold | null, entry: Entry, first: boolean): void => {
    if (hold === null) throw new Error('no room, after there was some');
    expect(hold.backend).toBe(entry.backend);
    calls.push({ hold, entry, first, reached: false, over: false });
  };

  for (const one of steps) {
    now += one.wait;
    // Those that are over come as well: what is done to them must do nothing.
    const from = one.pick % 4 === 0 ? calls : calls.filter(({ over }) => !over);
    const call = from[one.pick % Math.max(1, from.length)];
    switch (one.kind) {
      case 'call': {
        const found = sessions.find(one.key, now);
        const expected = reckoning.find(one.key, now, lost);
        if (typeof expected === 'string') {
          expect(found.kind).toBe(expected);
          if (expected !== 'none') break;
          begin(sessions.claim(one.key, one.backend, now), reckoning.claim(one.key, one.backend, now), true);
          break;
        }
        expected.calls += 1;
        expected.fresh = false;
        reckoning.touch(expected, now);
        reckoning.count('used');
        begin(found.kind === 'held' ? found.hold : null, expected, false);
        break;
      }
      case 'reached':
        if (call === undefined) break;
        call.hold.reached(now);
        if (call.over) break;
        call.reached = true;
        call.entry.fresh = false;
        call.entry.usedAt = now;
        break;
      case 'ended':
        if (call === undefined) break;
        call.hold.ended(now);
        if (call.over) break;
        call.over = true;
        call.entry.calls -= 1;
        if (call.reached) call.entry.usedAt = now;
        reckoning.touch(call.entry, now);
        break;
      case 'release': {
        if (call === undefined) break;
        const may = call.first && !call.over && call.entry.fresh && reckoning.entries.includes(call.entry);
        expect([call.hold.fresh, call.hold.release()]).toEqual([may, may]);
        if (!may) break;
        call.over = true;
        call.entry.calls -= 1;
        reckoning.remove(call.entry, 'released');
        break;
      }
      case 'presence':
        presence.set(one.backend, one.state === 'gone' ? 'gone' : one.state === 'away' ? now : null);
        break;
      case 'clear':
        expect(sessions.clear()).toBe(reckoning.entries.length);
        reckoning.count('cleared', reckoning.entries.length);
        reckoning.entries = [];
        break;
      case 'stats':
        reckoning.sweep(now, Number.POSITIVE_INFINITY);
        expect(sessions.stats(now).size).toBe(reckoning.entries.length);
        break;
      default:
        one satisfies never;
    }
  }
  reckoning.sweep(now, Number.POSITIVE_INFINITY);
  expect(sessions.stats(now)).toEqual({
    size: reckoning.entries.length,
    calls: calls.filter(({ over }) => !over).length,
    outcomes: reckoning.counts,
  });
  for (const [outcome, times] of Object.entries(reckoning.counts)) told(outcome as SessionOutcome, times);
}

it('sessions are what a plain list makes of them, in any order of calls, ends, losses and times', () => {
  const seen = new Map<SessionOutcome, number>();
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 120 }), (steps) => {
      play(steps, (outcome, times) => seen.set(outcome, (seen.get(outcome) ?? 0) + times));
    }),
    { seed, numRuns },
  );
  // Where one of them never comes the draw proves nothing of it.
  for (const [outcome, times] of seen) expect(times, outcome).toBeGreaterThan(0);
});
