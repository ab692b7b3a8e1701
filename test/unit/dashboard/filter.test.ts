import { describe, expect, it } from 'vitest';
import { choicesOf, filterOf, hashOf, isPlain, matches, newest, noFilter } from '../../../src/dashboard/filter.js';
import { attempt, call, hedgedCall, throttledCall } from './live.js';

const plain = call({ seq: 9, call: 'run1-9', retries: 0, attempts: [attempt({ backend: 'ash' })] });

describe('the address', () => {
  it('holds the filter, and gives it back', () => {
    const filter = { method: '/a.B/C', backend: 'oak/10.0.0.1', reason: 'throttled', text: 'a&b=c #d', plain: true };
    expect(filterOf(hashOf(filter))).toEqual(filter);
  });

  it('is empty where nothing is filtered', () => {
    expect(hashOf(noFilter)).toBe('');
    expect(filterOf('')).toEqual(noFilter);
    expect(filterOf('#')).toEqual(noFilter);
  });

  it('may hold what somebody else wrote there', () => {
    expect(filterOf('#calls')).toEqual(noFilter);
    expect(filterOf('#plain=1&x=%zz&reason=pushback')).toEqual({ ...noFilter, reason: 'pushback' });
  });
});

describe('matches()', () => {
  const calls = [call(), hedgedCall(), throttledCall(), plain];
  const found = (filter: Partial<typeof noFilter>) =>
    calls.filter((one) => matches(one, { ...noFilter, ...filter })).map(({ seq }) => seq);

  it.each([
    [{}, [1, 2, 3]],
    [{ plain: true }, [1, 2, 3, 9]],
    [{ method: '/shop.v1.Orders/FindOrder' }, [2]],
    [{ method: 'FindOrder' }, []],
    [{ backend: 'hazel' }, [2, 3]],
    [{ reason: 'ok' }, [1, 2]],
    [{ backend: 'hazel', reason: 'throttled' }, [3]],
    [{ text: 'run1-2' }, [2]],
    [{ text: '  ReStArTiNg ' }, [1, 3]],
    [{ text: 'hedge' }, [2]],
    [{ text: 'throttle is shut' }, [3]],
  ])('%j finds %j', (filter, expected) => {
    expect(found(filter)).toEqual(expected);
  });
});

describe('isPlain()', () => {
  it('a call that was answered at the first attempt, and no other', () => {
    expect([plain, call(), hedgedCall(), throttledCall()].map(isPlain)).toEqual([true, false, false, false]);
  });
});

describe('newest()', () => {
  it('keeps so many of each kind: no flood pushes out the calls that were tried again', () => {
    const of = (length: number, from: number, one: typeof plain) =>
      Array.from({ length }, (_, index) => ({ ...one, seq: from - index }));
    const kept = newest([...of(1000, 9000, plain), ...of(1000, 5000, throttledCall()), ...of(400, 2000, call())]);
    expect(kept.map(({ seq }) => seq)).toEqual(
      [...of(60, 9000, plain), ...of(150, 5000, plain), ...of(150, 2000, plain)].map(({ seq }) => seq),
    );
  });
});

describe('choicesOf()', () => {
  it('is what the calls have, in order, and what is chosen though none has it', () => {
    const lost = call({ attempts: [attempt({ backend: null, result: 'unplaced' })], reason: 'no_backend' });
    expect(choicesOf([hedgedCall(), call(), lost], { ...noFilter, backend: 'yew' })).toEqual({
      methods: ['/shop.v1.Orders/FindOrder', '/shop.v1.Orders/GetOrder'],
      backends: ['elm', 'hazel', 'oak', 'yew'],
      reasons: ['no_backend', 'ok'],
    });
  });
});
