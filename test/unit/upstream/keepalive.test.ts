import { describe, expect, it } from 'vitest';
import {
  answered,
  judge,
  type KeepaliveFacts,
  type KeepaliveLimits,
  type KeepaliveState,
  quiet,
  strikeTime,
} from '../../../src/upstream/keepalive.js';

const limits: KeepaliveLimits = { time: 10_000, timeout: 5000, maxPings: 3 };
/** One call is open since 0, and nothing has come since. */
const silent: KeepaliveFacts = { openStreams: 1, busySince: 0, lastReadAt: Number.NEGATIVE_INFINITY, callFrames: 0 };

/** A peer that answers each PING after `roundTrip` and says nothing else: when PINGs go out, up to `until`. */
function pingsOf(peer: { limits?: Partial<KeepaliveLimits>; roundTrip?: number; until: number }): number[] {
  const { roundTrip = 20, until } = peer;
  const sent: number[] = [];
  let state: KeepaliveState = quiet;
  let facts = silent;
  for (let now = 0; now <= until; ) {
    const judged = judge(state, facts, now, { ...limits, ...peer.limits });
    state = judged.state;
    if (judged.step.kind === 'ping') {
      sent.push(now);
      now += roundTrip;
      state = answered(state, 0, now);
      facts = { ...facts, lastReadAt: now };
    } else if (judged.step.kind === 'wait') now = judged.step.at;
    else throw new Error(`${judged.step.kind} at ${now}`);
  }
  return sent;
}

/** Strikes as grpc-go and C-core give them: the first PING after a HEADERS or DATA frame is free, the third strike cuts. */
function isCut(arrivals: readonly number[]): boolean {
  let strikes = 0;
  let last = Number.NEGATIVE_INFINITY;
  for (const at of arrivals) {
    if (at < last + 300_000) strikes += 1;
    if (strikes > 2) return true;
    last = at;
  }
  return false;
}

describe('the schedule of PINGs to a backend that answers them and says nothing else', () => {
  it('three by the interval, then one in five minutes', () => {
    const sent = pingsOf({ until: 1_000_000 });
    expect(sent).toEqual([
      10_000,
      20_020,
      30_040,
      30_060 + strikeTime,
      30_080 + 2 * strikeTime,
      30_100 + 3 * strikeTime,
    ]);
  });

  it('a call silent for a day is never cut by a stock server, however uneven the way there is', () => {
    const sent = pingsOf({ until: 86_400_000, roundTrip: 20 });
    // A PING takes between nothing and the whole round trip to arrive.
    for (const late of [(i: number) => (i % 2) * 20, (i: number) => ((i + 1) % 2) * 20, () => 0, () => 20])
      expect(isCut(sent.map((at, i) => at + late(i)))).toBe(false);
    expect(isCut(pingsOf({ until: 60_000, limits: { maxPings: 4 } }))).toBe(true);
  });

  it('without a limit by the interval for ever', () => {
    expect(pingsOf({ until: 61_000, limits: { maxPings: 0 }, roundTrip: 0 })).toEqual([
      10_000, 20_000, 30_000, 40_000, 50_000, 60_000,
    ]);
  });

  it('a longer interval than five minutes needs no ration', () => {
    const sent = pingsOf({ until: 2_000_000, limits: { time: 400_000 }, roundTrip: 0 });
    expect(sent).toEqual([400_000, 800_000, 1_200_000, 1_600_000, 2_000_000]);
  });
});

describe('silence', () => {
  it('counts from the last byte, or from when calls began to be open', () => {
    expect(judge(quiet, { ...silent, lastReadAt: 4000 }, 12_000, limits).step).toEqual({ kind: 'wait', at: 14_000 });
    expect(judge(quiet, { ...silent, busySince: 9000, lastReadAt: 500 }, 12_000, limits).step).toEqual({
      kind: 'wait',
      at: 19_000,
    });
    expect(judge(quiet, silent, 9999, limits).step).toEqual({ kind: 'wait', at: 10_000 });
    expect(judge(quiet, silent, 10_000, limits).step).toEqual({ kind: 'ping', at: 15_000 });
  });

  it('without calls asks nothing', () => {
    expect(judge(quiet, { ...silent, openStreams: 0 }, 1_000_000, limits).step).toEqual({ kind: 'rest' });
  });

  it('after a PING is a loss once the time is over, also where the calls have ended meanwhile', () => {
    const { state } = judge(quiet, silent, 10_000, limits);
    expect(judge(state, silent, 14_999, limits).step).toEqual({ kind: 'wait', at: 15_000 });
    expect(judge(state, silent, 15_000, limits).step).toEqual({ kind: 'lost' });
    expect(judge(state, { ...silent, openStreams: 0 }, 15_000, limits).step).toEqual({ kind: 'lost' });
  });

  it('ends with any byte, not only with the answer', () => {
    const { state } = judge(quiet, silent, 10_000, limits);
    const heard = { ...silent, lastReadAt: 14_990 };
    expect(judge(state, heard, 15_000, limits).step).toEqual({ kind: 'wait', at: 24_990 });
    expect(judge(state, { ...heard, openStreams: 0 }, 15_000, limits).step).toEqual({ kind: 'rest' });
  });
});

describe('the count of PINGs', () => {
  /** Three PINGs, each answered at once. */
  function rationed(): { state: KeepaliveState; now: number } {
    let state: KeepaliveState = quiet;
    let now = 0;
    for (let i = 0; i < 3; i += 1) {
      now += 10_000;
      state = answered(judge(state, { ...silent, lastReadAt: now - 10_000 }, now, limits).state, 0, now);
    }
    return { state, now };
  }

  it('begins anew with a HEADERS or DATA frame, and with no other frame', () => {
    const { state, now } = rationed();
    const other = { ...silent, lastReadAt: now + 1 };
    expect(judge(state, other, now + 10_001, limits).step).toEqual({ kind: 'wait', at: now + strikeTime });
    expect(judge(state, { ...other, callFrames: 1 }, now + 10_001, limits).step).toMatchObject({ kind: 'ping' });
  });

  it('a frame that came before the answer may have left before the PING arrived, which then is the first', () => {
    let { state } = judge(quiet, silent, 10_000, limits);
    // The answer to the call crosses the PING.
    state = answered(state, 5, 10_030);
    const sent: number[] = [];
    let lastReadAt = 10_030;
    for (let now = 10_030; sent.length < 3; ) {
      const judged = judge(state, { ...silent, callFrames: 5, lastReadAt }, now, limits);
      state = judged.state;
      if (judged.step.kind === 'ping') {
        sent.push(now);
        state = answered(state, 5, now);
        lastReadAt = now;
      } else now = judged.step.kind === 'wait' ? judged.step.at : Number.NaN;
    }
    // Two more within the interval, not three.
    expect((sent[1] ?? 0) - (sent[0] ?? 0)).toBe(10_000);
    expect((sent[2] ?? 0) - (sent[1] ?? 0)).toBe(strikeTime);
  });

  it('while an answer is outstanding no frame frees anything', () => {
    const first = judge(quiet, silent, 10_000, limits).state;
    const busy = (at: number) => ({ ...silent, callFrames: at, lastReadAt: at });
    const second = judge(first, busy(10_500), 20_500, limits).state;
    const third = judge(second, busy(20_600), 30_600, limits).state;
    expect(judge(third, busy(30_700), 40_700, limits).step).toEqual({ kind: 'wait', at: 30_600 + strikeTime });
    // The answers come after all: the last of them tells where the peer stands.
    const late = answered(answered(answered(third, 30_700, 41_000), 30_700, 41_000), 30_700, 41_000);
    expect(judge(late, busy(41_000), 51_000, limits).step).toMatchObject({ kind: 'ping' });
  });
});
