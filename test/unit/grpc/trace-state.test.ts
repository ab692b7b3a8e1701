import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readTraceState } from '../../../src/grpc/trace-state.js';

describe('tracestate', () => {
  it('is passed on in its order, without the blanks around its members', () => {
    expect(readTraceState('rojo=00f067aa0ba902b7,congo=t61rcWkgMzE')).toBe('rojo=00f067aa0ba902b7,congo=t61rcWkgMzE');
    expect(readTraceState(' a=1 ,\tb=2,,1a-b_c*d/e@sys=x y ')).toBe('a=1,b=2,1a-b_c*d/e@sys=x y');
  });

  it('loses members that are malformed, and all but the first of one key', () => {
    expect(readTraceState('A=1,=1,a,b=,c=1=2,d=\x7f,é=1,ok=1,ok=2')).toBe('ok=1');
    expect(readTraceState('nonsense')).toBe('');
  });

  it('keeps 32 members', () => {
    const members = Array.from({ length: 40 }, (_, i) => `k${i}=v`);
    expect(readTraceState(members.join(','))).toBe(members.slice(0, 32).join(','));
  });

  it('keeps 512 characters: large members go first, then those at the end', () => {
    const large = `large=${'x'.repeat(123)}`;
    expect(large).toHaveLength(129);
    const small = Array.from({ length: 5 }, (_, i) => `s${i}=${'y'.repeat(97)}`);
    expect(small.join(',')).toHaveLength(504);
    expect(readTraceState([large, ...small].join(','))).toBe(small.join(','));
    expect(readTraceState([...small, 'z=1', 'end=12345'].join(','))).toBe([...small, 'z=1'].join(','));
    expect(readTraceState([large, 'a=1'].join(','))).toBe([large, 'a=1'].join(','));
  });

  it('is bounded whatever comes, and the same when it is read again', () => {
    const member = fc
      .tuple(fc.stringMatching(/^[a-z]{1,3}$/), fc.stringMatching(/^[ -~]{0,200}$/))
      .map((m) => m.join('='));
    fc.assert(
      fc.property(fc.array(fc.oneof(member, fc.string())), (parts) => {
        const state = readTraceState(parts.join(','));
        expect(state.length).toBeLessThanOrEqual(512);
        expect(readTraceState(state)).toBe(state);
      }),
    );
  });
});
