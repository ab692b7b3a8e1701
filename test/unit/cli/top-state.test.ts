import { describe, expect, it } from 'vitest';
import { readKeys } from '../../../src/cli/top-keys.js';
import { firstState, indexOf, listed, shownOf, step, type TopState } from '../../../src/cli/top-state.js';
import { exhausted, hedgedCall, live, recentCall } from '../../support/live.js';

const at = (uptime_ms: number, instance = 'first') => live({ uptime_ms, instance });

function read(state: TopState, snapshot = at(1000), calls: readonly ReturnType<typeof recentCall>[] = []): TopState {
  return step(state, { type: 'read', snapshot, calls });
}

function press(state: TopState, ...keys: readonly string[]): TopState {
  return keys.reduce((before, key) => step(before, { type: 'key', key }), state);
}

const seqs = (state: TopState): number[] => listed(state, shownOf(state)?.calls ?? []).map(({ seq }) => seq);

describe('what hedgerow top makes of reads', () => {
  it('TOP-07: rates are of the last ten seconds, of the time since the start at the first look', () => {
    let state = read(firstState, at(60_000));
    expect(shownOf(state)?.previous).toBeNull();
    for (let uptime = 61_000; uptime <= 90_000; uptime += 1000) state = read(state, at(uptime));
    expect(shownOf(state)?.previous?.uptime_ms).toBe(80_000);
    expect(state.history).toHaveLength(11);
  });

  it('an interval that is longer than that is the span itself', () => {
    const state = read(read(read(firstState, at(60_000)), at(90_000)), at(120_000));
    expect(shownOf(state)?.previous?.uptime_ms).toBe(90_000);
  });

  it('TOP-08: a proxy that was started anew begins anew, the chosen call too', () => {
    const before = press(read(read(firstState, at(60_000)), at(61_000), [exhausted(7), exhausted(8)]), 'j');
    expect(before.chosen).toBe(7);
    const after = read(before, at(500, 'second'), [exhausted(1)]);
    expect(shownOf(after)).toMatchObject({ previous: null, snapshot: { uptime_ms: 500 } });
    expect(after.chosen).toBeNull();
  });

  it('an answer that is older than what is known changes nothing that is shown', () => {
    const state = read(read(firstState, at(2000)), at(1000));
    expect(shownOf(state)?.snapshot.uptime_ms).toBe(2000);
  });

  it('failures in a row have one beginning, and end with an answer', () => {
    const once = step(firstState, { type: 'failed', why: 'no', now: 100 });
    const twice = step(once, { type: 'failed', why: 'still no', now: 200 });
    expect(twice.link).toEqual({ kind: 'lost', why: 'still no', since: 100 });
    expect(read(twice).link).toEqual({ kind: 'up' });
  });
});

describe('the keys of hedgerow top', () => {
  const calls = [
    recentCall(5),
    exhausted(4),
    hedgedCall(3),
    recentCall(2),
    exhausted(1, { method: '/shop.v1.Cart/Drop' }),
  ];
  const filled = read(firstState, at(1000), calls);

  it('TOP-09: p holds the screen still while calls go on, and p again shows them', () => {
    const paused = press(filled, 'p');
    const later = read(paused, at(2000), [exhausted(9)]);
    expect(shownOf(later)).toMatchObject({ snapshot: { uptime_ms: 1000 }, calls: [{ seq: 5 }, {}, {}, {}, {}] });
    expect(shownOf(press(later, 'p'))).toMatchObject({ snapshot: { uptime_ms: 2000 }, calls: [{ seq: 9 }] });
  });

  it('TOP-10: notable calls are listed alone, and with a all', () => {
    expect(seqs(filled)).toEqual([4, 3, 1]);
    expect(seqs(press(filled, 'a'))).toEqual([5, 4, 3, 2, 1]);
    expect(seqs(press(filled, 'a', 'a'))).toEqual([4, 3, 1]);
  });

  it.each([
    ['drop', [1]],
    ['EXHAUSTED', [4, 1]],
    ['unavailable', [4, 1]],
    ['b', [4, 3, 1]],
    ['0abc-3', [3]],
    ['nowhere to be found', []],
  ])('TOP-11: / and a text shows the calls that hold it: %s', (text, expected) => {
    expect(seqs(press(filled, '/', ...text, 'enter'))).toEqual(expected);
  });

  it('a filter is edited where it stands, left as it was by Esc, and cleared by Esc outside', () => {
    const set = press(filled, '/', 'd', 'r', 'x', 'backspace', 'enter');
    expect(set.filter).toBe('dr');
    expect(press(set, '/').typing).toBe('dr');
    expect(press(set, '/', 'o', 'escape')).toMatchObject({ filter: 'dr', typing: null });
    expect(press(set, 'escape').filter).toBe('');
    // What is typed is text, not keys.
    expect(press(filled, '/', 'q', 'p')).toMatchObject({ typing: 'qp', over: false, paused: null });
  });

  it('TOP-12: a chosen call stays chosen while others come', () => {
    const chosen = press(filled, 'j');
    expect(chosen.chosen).toBe(3);
    const later = read(chosen, at(2000), [exhausted(7), exhausted(6), ...calls]);
    expect(indexOf(listed(later, later.calls), later.chosen)).toBe(3);
    expect(press(later, 'k').chosen).toBe(4);
  });

  it('the choice goes no further than the list, and to its newest follows it', () => {
    expect(press(filled, 'j', 'j', 'j', 'j').chosen).toBe(1);
    expect(press(filled, 'G').chosen).toBe(1);
    expect(press(filled, 'pagedown').chosen).toBe(1);
    expect(press(filled, 'j', 'up').chosen).toBeNull();
    expect(press(filled, 'G', 'g').chosen).toBeNull();
    expect(press(filled, 'G', 'pageup').chosen).toBeNull();
    expect(press(firstState, 'j', 'G').chosen).toBeNull();
  });

  it('q ends it, and ^C does, in a filter too', () => {
    expect(press(filled, 'q').over).toBe(true);
    expect(press(filled, 'interrupt').over).toBe(true);
    expect(press(filled, '/', 'interrupt').over).toBe(true);
  });

  it('a call that is kept no more leaves the choice with the one before it in time', () => {
    expect(indexOf([exhausted(9), exhausted(5), exhausted(2)], 7)).toBe(1);
    expect(indexOf([exhausted(9)], 7)).toBe(0);
    expect(indexOf([], 7)).toBe(0);
  });
});

describe('the input of a terminal', () => {
  it.each([
    ['q', ['q']],
    ['jk', ['j', 'k']],
    ['\u001b[A\u001b[B\u001bOA\u001bOB', ['up', 'down', 'up', 'down']],
    ['\u001b[5~\u001b[6~', ['pageup', 'pagedown']],
    ['\u001b[H\u001b[F\u001b[1~\u001b[4~', ['home', 'end', 'home', 'end']],
    ['\u0003', ['interrupt']],
    ['\r\n', ['enter', 'enter']],
    ['\u007f', ['backspace']],
    ['\u001b', ['escape']],
    ['ü😀', ['ü', '😀']],
    // A mouse, F5, ^Z: not ours.
    ['\u001b[<0;3;4M\u001b[15~\u001a', []],
  ])('%j', (text, keys) => {
    expect(readKeys(text)).toEqual(keys);
  });
});
