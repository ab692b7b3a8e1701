import { describe, expect, it } from 'vitest';
import { millis } from '../../../src/grpc/millis.js';
import { Status } from '../../../src/grpc/status.js';
import { type End, type Failure, isDebit, judge } from '../../../src/policy/ladder.js';
import { never, noPlan, pause, retryPlan } from './script.js';

const listed: End = { code: Status.UNAVAILABLE, reach: 'processed', pushback: { kind: 'none' }, by: 'backend' };

/** A failure that would be retried at 1100, with what a case changes. */
function failure({ end, ...rest }: Partial<Omit<Failure, 'end'>> & { readonly end?: Partial<End> }): Failure {
  return {
    now: millis(1000),
    deadlineAt: null,
    plan: retryPlan(),
    policy: 'on',
    commit: null,
    unsentLeft: true,
    refusalLeft: true,
    counted: 1,
    onlyUnplaced: false,
    backoffs: 0,
    throttled: false,
    random: () => 0.5,
    ...rest,
    end: { ...listed, ...end },
  };
}

function outcome(of: Failure): string {
  const verdict = judge(of);
  switch (verdict.kind) {
    case 'stop':
      return verdict.reason;
    case 'retry':
      return `at ${verdict.at}`;
    case 'transparent':
      return 'transparent';
    default:
      return verdict satisfies never;
  }
}

/** Each row of D12 that stops, with what makes it match; every row above matches later cases too. */
const rows = [
  ['overloaded', { end: { reach: 'dropped' } }],
  ['transparent', { end: { reach: 'refused' } }],
  ['no_policy', { policy: 'off' }],
  ['fatal_status', { end: { code: Status.INTERNAL } }],
  ['pushback', { end: { pushback: never } }],
  ['attempts_exhausted', { counted: 4 }],
  ['throttled', { throttled: true }],
  ['backoff_beyond_deadline', { deadlineAt: millis(1100) }],
] as const satisfies readonly (readonly [string, Parameters<typeof failure>[0]])[];

describe('the ladder', () => {
  it.each(rows)('stops with %s, or repeats, by that row alone', (expected, facts) => {
    expect(outcome(failure(facts))).toBe(expected);
  });

  it.each(
    rows.flatMap(([first, a], i) =>
      rows.slice(i + 1).flatMap(([second, b]) =>
        // Two facts of one field cannot be had together; such a pair says nothing about order.
        'end' in a && 'end' in b && Object.keys(a.end).some((key) => key in b.end)
          ? []
          : [[first, second, a, b] as const],
      ),
    ),
  )('looks at %s before %s', (first, _second, a, b) => {
    expect(outcome(failure({ ...b, ...a, end: { ...('end' in b ? b.end : {}), ...('end' in a ? a.end : {}) } }))).toBe(
      first,
    );
  });

  it('retries after backoff where no row stops it', () => {
    expect(outcome(failure({}))).toBe('at 1100');
    expect(outcome(failure({ backoffs: 2 }))).toBe('at 1400');
    expect(outcome(failure({ backoffs: 2, random: () => 0 }))).toBe('at 1320');
  });

  it('PB-01: waits exactly what a pushback says, and draws nothing', () => {
    const random = (): number => {
      throw new Error('nothing to draw');
    };
    expect(outcome(failure({ end: { pushback: pause(300) }, backoffs: 3, random }))).toBe('at 1300');
    expect(outcome(failure({ end: { pushback: pause(0) }, random }))).toBe('at 1000');
  });

  it.each([
    ['fatal_status', { end: { code: Status.INTERNAL } }],
    ['attempts_exhausted', { counted: 4 }],
    ['throttled', { throttled: true }],
    ['backoff_beyond_deadline', { deadlineAt: millis(1299) }],
    ['backoff_beyond_deadline', { deadlineAt: millis(1300) }],
    ['at 1300', { deadlineAt: millis(1301) }],
  ] as const)('PB-10, PB-14: a pushback of 300 ms overrides no row: %s', (expected, facts) => {
    const end = { pushback: pause(300), ...('end' in facts ? facts.end : {}) };
    expect(outcome(failure({ ...facts, end }))).toBe(expected);
  });

  describe('row 3, proven not processed', () => {
    it.each([
      ['unsent', null, 'transparent'],
      ['unsent', 'buffer_call', 'transparent'],
      ['unsent', 'headers', 'committed'],
      ['refused', null, 'transparent'],
      ['refused', 'buffer_call', 'buffer_exceeded'],
      ['refused', 'headers', 'committed'],
    ] as const)('SM-30: %s, committed by %s: %s', (reach, commit, expected) => {
      expect(outcome(failure({ end: { reach }, commit }))).toBe(expected);
    });

    it('leaves an attempt to the policy when its quota is used up, each kind its own', () => {
      expect(outcome(failure({ end: { reach: 'unsent' }, unsentLeft: false }))).toBe('at 1100');
      expect(outcome(failure({ end: { reach: 'refused' }, refusalLeft: false }))).toBe('at 1100');
      expect(outcome(failure({ end: { reach: 'unsent' }, refusalLeft: false }))).toBe('transparent');
      expect(outcome(failure({ end: { reach: 'refused' }, unsentLeft: false }))).toBe('transparent');
    });

    it.each(['unplaced', 'processed'] as const)('never repeats what ended %s', (reach) => {
      expect(outcome(failure({ end: { reach } }))).toBe('at 1100');
    });

    it('SM-20: repeats without a policy too', () => {
      expect(outcome(failure({ end: { reach: 'refused' }, plan: noPlan }))).toBe('transparent');
      expect(outcome(failure({ end: { reach: 'unsent' }, policy: 'off' }))).toBe('transparent');
    });
  });

  describe('row 12, no attempt found a backend', () => {
    const end = { reach: 'unplaced', by: 'proxy' } as const;

    it.each([
      { plan: noPlan },
      { policy: 'off' as const },
      { plan: retryPlan({ retryable: new Set([Status.ABORTED]) }) },
      { counted: 4 },
      { throttled: true },
      { deadlineAt: millis(1100) },
    ])('SM-32: renames the reason of rows 5 to 11, case %#', (facts) => {
      expect(outcome(failure({ ...facts, end, onlyUnplaced: true }))).toBe('no_backend');
    });

    it('changes nothing where a row lets the call go on', () => {
      expect(outcome(failure({ end, onlyUnplaced: true }))).toBe('at 1100');
    });

    it('renames nothing where one attempt found one', () => {
      expect(outcome(failure({ end, counted: 4 }))).toBe('attempts_exhausted');
    });

    it('renames nothing after commit', () => {
      expect(outcome(failure({ end, onlyUnplaced: true, commit: 'buffer_total' }))).toBe('buffer_exceeded');
    });

    it('leaves a drop its own name', () => {
      expect(outcome(failure({ end: { reach: 'dropped' }, onlyUnplaced: true }))).toBe('overloaded');
    });
  });

  describe('a call that fails after commit', () => {
    it.each([
      ['backend_lost', 'headers', { end: { by: 'loss', code: Status.INTERNAL }, plan: noPlan }],
      ['backend_lost', 'buffer_call', { end: { by: 'loss' } }],
      ['no_policy', 'headers', { plan: noPlan }],
      ['no_policy', 'buffer_call', { policy: 'off', end: { code: Status.INTERNAL } }],
      ['fatal_status', 'headers', { end: { code: Status.INTERNAL, pushback: never } }],
      ['fatal_status', 'buffer_client', { end: { code: Status.INTERNAL } }],
      ['pushback', 'headers', { end: { pushback: never } }],
      ['pushback', 'buffer_total', { end: { pushback: never } }],
      ['committed', 'headers', {}],
      ['buffer_exceeded', 'buffer_call', {}],
      ['buffer_exceeded', 'buffer_client', {}],
      ['buffer_exceeded', 'buffer_total', {}],
      ['committed', 'headers', { counted: 4, throttled: true, deadlineAt: millis(1001) }],
      ['committed', 'headers', { end: { pushback: pause(10) } }],
      ['overloaded', 'buffer_call', { end: { reach: 'dropped' } }],
    ] as const)('says %s, committed by %s, case %#', (expected, commit, facts) => {
      expect(outcome(failure({ ...facts, commit }))).toBe(expected);
    });
  });
});

describe('the debit', () => {
  const plan = retryPlan();

  it.each([
    ['a listed code', true, plan, listed],
    ['an unlisted code', false, plan, { ...listed, code: Status.INTERNAL }],
    ['a listed code with a pushback to wait', true, plan, { ...listed, pushback: pause(5) }],
    ['an unlisted code with a pushback to wait', false, plan, { ...listed, code: Status.INTERNAL, pushback: pause(5) }],
    ['a do-not-retry pushback on a listed code', true, plan, { ...listed, pushback: never }],
    ['a do-not-retry pushback on an unlisted code', true, plan, { ...listed, code: Status.INTERNAL, pushback: never }],
    ['a do-not-retry pushback without a policy', true, noPlan, { ...listed, pushback: never }],
    ['any code without a policy', false, noPlan, listed],
    ['an attempt that found no backend, listed', true, plan, { ...listed, reach: 'unplaced', by: 'proxy' }],
    ['a drop', false, plan, { ...listed, reach: 'dropped', by: 'proxy' }],
  ] as const)('PB-16: %s: %s', (_case, expected, of, end) => {
    expect(isDebit(of, end)).toBe(expected);
  });
});
