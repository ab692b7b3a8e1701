import { describe, expect, it } from 'vitest';
import { millis } from '../../../src/grpc/millis.js';
import { Status } from '../../../src/grpc/status.js';
import { type End, isDebit, judge, type Moment, type Standing } from '../../../src/policy/ladder.js';
import type { Placement, Plan } from '../../../src/policy/types.js';
import { hedgePlan, never, noPlan, pause, retryPlan } from './script.js';

const listed: End = { code: Status.UNAVAILABLE, reach: 'processed', pushback: { kind: 'none' }, by: 'backend' };

type Facts = Partial<Standing> & Partial<Moment> & { readonly end?: Partial<End> };

function noDraw(): number {
  throw new Error('nothing to draw');
}

const anywhere: Placement = { kind: 'any' };
const pinned: Placement = { kind: 'only', target: 'a', by: 'pin', again: false };

/** What follows from a failure that would be retried at 1100, with what a case changes. */
function outcome({ end, now = millis(1000), throttled = false, random = () => 0.5, ...changes }: Facts): string {
  const standing: Standing = {
    plan: retryPlan(),
    policy: 'on',
    placement: anywhere,
    commit: null,
    deadlineAt: null,
    counted: 1,
    backoffs: 0,
    unsentRepeats: 0,
    maxTransparent: 1,
    refusedRepeated: false,
    ...changes,
  };
  const verdict = judge(standing, { ...listed, ...end }, { now, throttled, random });
  switch (verdict.kind) {
    case 'stop':
    case 'hold':
      return `${verdict.kind} ${verdict.reason}`;
    case 'retry':
      return `at ${verdict.at}`;
    case 'hedge':
      return `hedge at ${verdict.at}${verdict.pushed ? ', pushed back' : ''}`;
    case 'transparent':
      return 'transparent';
    default:
      return verdict satisfies never;
  }
}

/** Each row of D12 that stops or holds, with what makes it match; every row above matches later cases too. */
const rows = [
  ['hold overloaded', { end: { reach: 'dropped' } }],
  ['transparent', { end: { reach: 'refused' } }],
  ['stop no_policy', { policy: 'off' }],
  ['stop fatal_status', { end: { code: Status.INTERNAL } }],
  ['hold pushback', { end: { pushback: never } }],
  ['hold attempts_exhausted', { counted: 4 }],
  ['hold throttled', { throttled: true }],
  ['hold backoff_beyond_deadline', { deadlineAt: millis(1100) }],
] as const satisfies readonly (readonly [string, Facts])[];

/** Two matches at once; null where they ask for two values of one fact. */
function both(a: Facts, b: Facts): Facts | null {
  if (Object.keys(a.end ?? {}).some((key) => key in (b.end ?? {}))) return null;
  return { ...b, ...a, end: { ...b.end, ...a.end } };
}

const pairs = rows.flatMap(([first, a], i) =>
  rows.slice(i + 1).flatMap(([second, b]) => {
    const facts = both(a, b);
    return facts === null ? [] : [[first, second, facts] as const];
  }),
);

describe('the ladder', () => {
  it.each(rows)('%s, by that row alone', (expected, facts) => {
    expect(outcome(facts)).toBe(expected);
  });

  it.each(pairs)('looks at "%s" before "%s"', (first, _second, facts) => {
    expect(outcome(facts)).toBe(first);
  });

  it('retries after backoff where no row stops it', () => {
    expect(outcome({})).toBe('at 1100');
    expect(outcome({ backoffs: 2 })).toBe('at 1400');
    expect(outcome({ backoffs: 2, random: () => 0 })).toBe('at 1320');
  });

  it('PB-01: waits exactly what a pushback says, and draws nothing', () => {
    expect(outcome({ end: { pushback: pause(300) }, backoffs: 3, random: noDraw })).toBe('at 1300');
    expect(outcome({ end: { pushback: pause(0) }, random: noDraw })).toBe('at 1000');
  });

  it.each([
    ['stop fatal_status', { end: { code: Status.INTERNAL } }],
    ['hold attempts_exhausted', { counted: 4 }],
    ['hold throttled', { throttled: true }],
    ['hold backoff_beyond_deadline', { deadlineAt: millis(1299) }],
    ['hold backoff_beyond_deadline', { deadlineAt: millis(1300) }],
    ['at 1300', { deadlineAt: millis(1301) }],
  ] as const satisfies readonly (readonly [string, Facts])[])(
    'PB-10, PB-14: a pushback of 300 ms overrides no row: %s',
    (expected, { end = {}, ...facts }: Facts) => {
      expect(outcome({ ...facts, end: { pushback: pause(300), ...end } })).toBe(expected);
    },
  );

  describe('row 3, proven not processed', () => {
    it.each([
      ['unsent', null, 'transparent'],
      ['unsent', 'buffer_call', 'transparent'],
      ['unsent', 'headers', 'stop committed'],
      ['refused', null, 'transparent'],
      ['refused', 'buffer_call', 'stop buffer_exceeded'],
      ['refused', 'headers', 'stop committed'],
    ] as const)('SM-30: %s, committed by %s: %s', (reach, commit, expected) => {
      expect(outcome({ end: { reach }, commit })).toBe(expected);
    });

    it('leaves an attempt to the policy when its quota is used up, each kind its own', () => {
      expect(outcome({ end: { reach: 'unsent' }, unsentRepeats: 1 })).toBe('at 1100');
      expect(outcome({ end: { reach: 'refused' }, refusedRepeated: true })).toBe('at 1100');
      expect(outcome({ end: { reach: 'unsent' }, refusedRepeated: true })).toBe('transparent');
      expect(outcome({ end: { reach: 'refused' }, unsentRepeats: 1 })).toBe('transparent');
    });

    it.each(['unplaced', 'processed'] as const)('never repeats what ended %s', (reach) => {
      expect(outcome({ end: { reach } })).toBe('at 1100');
    });

    it('SM-20: repeats without a policy too', () => {
      expect(outcome({ end: { reach: 'refused' }, plan: noPlan })).toBe('transparent');
      expect(outcome({ end: { reach: 'unsent' }, policy: 'off' })).toBe('transparent');
    });

    it('DIS-22: repeats a pinned attempt too', () => {
      expect(outcome({ end: { reach: 'refused' }, placement: pinned })).toBe('transparent');
      expect(outcome({ end: { reach: 'unsent' }, placement: pinned })).toBe('transparent');
    });
  });

  describe('row 4, a strict pin', () => {
    const again: Placement = { ...pinned, again: true };
    const hedge = hedgePlan();
    const unplaced = { reach: 'unplaced', by: 'proxy' } as const;
    const lost = { by: 'loss' } as const;

    it.each([
      ['stop pinned', {}],
      ['stop pinned', { end: { pushback: pause(5) } }],
      ['stop pinned', { plan: hedge }],
      ['stop pinned', { placement: { ...pinned, by: 'session' } }],
      ['stop no_policy', { plan: noPlan }],
      ['stop no_policy', { policy: 'off' }],
      ['stop fatal_status', { end: { code: Status.INTERNAL } }],
      ['hold pushback', { end: { pushback: never } }],
      ['hold throttled', { throttled: true }],
      ['hold throttled', { throttled: true, plan: hedge }],
      ['hold backoff_beyond_deadline', { deadlineAt: millis(1100) }],
      ['stop backend_lost', { end: lost }],
      ['stop backend_lost', { end: lost, plan: hedge }],
      ['stop backend_lost', { end: { ...lost, code: Status.INTERNAL } }],
      ['stop pinned_backend_unavailable', { end: unplaced }],
      ['stop pinned_backend_unavailable', { end: unplaced, plan: noPlan }],
      ['stop pinned_backend_unavailable', { end: unplaced, placement: again }],
      ['stop pinned_backend_unavailable', { end: unplaced, commit: 'buffer_call' }],
      ['hold pinned_backend_busy', { end: { reach: 'dropped' } }],
      ['hold pinned_backend_busy', { end: { reach: 'dropped' }, placement: again }],
      ['stop committed', { commit: 'headers' }],
      ['stop buffer_exceeded', { commit: 'buffer_call' }],
      ['at 1100', { placement: again }],
      ['at 1005', { placement: again, end: { pushback: pause(5) } }],
      ['at 1100', { placement: again, end: lost }],
      ['hold attempts_exhausted', { placement: again, counted: 4 }],
      ['hold attempts_exhausted', { placement: again, counted: 4, end: lost }],
      ['stop fatal_status', { placement: again, end: { code: Status.INTERNAL } }],
      ['stop pinned', { placement: again, plan: hedge }],
      ['stop backend_lost', { placement: again, plan: hedge, end: lost }],
    ] as const satisfies readonly (readonly [string, Facts])[])('%s, case %#', (expected, facts) => {
      expect(outcome({ placement: pinned, ...facts })).toBe(expected);
    });

    it('a pin for the first attempt alone takes nothing from the policy', () => {
      const placement: Placement = { kind: 'firstOnly', target: 'a', by: 'pin' };
      expect(outcome({ placement })).toBe('at 1100');
      expect(outcome({ placement, end: lost })).toBe('at 1100');
      expect(outcome({ placement, end: unplaced })).toBe('at 1100');
      expect(outcome({ placement, end: { reach: 'dropped' } })).toBe('hold overloaded');
    });
  });

  describe('hedges', () => {
    const plan = hedgePlan();

    it.each([
      ['hedge at 1000', {}],
      ['hedge at 1300, pushed back', { end: { pushback: pause(300) } }],
      ['hedge at 1000, pushed back', { end: { pushback: pause(0) } }],
      ['hedge at 1000', { end: { by: 'loss' } }],
      ['hedge at 1000', { deadlineAt: millis(1001) }],
      ['stop fatal_status', { end: { code: Status.INTERNAL } }],
      ['stop fatal_status', { plan: hedgePlan({ nonFatal: new Set() }) }],
      ['stop no_policy', { policy: 'off' }],
      ['hold pushback', { end: { pushback: never } }],
      ['hold attempts_exhausted', { counted: 3 }],
      ['hedge at 1000', { counted: 2 }],
      ['hold throttled', { throttled: true }],
      ['hold backoff_beyond_deadline', { end: { pushback: pause(300) }, deadlineAt: millis(1300) }],
      ['hold overloaded', { end: { reach: 'dropped' } }],
      ['transparent', { end: { reach: 'refused' } }],
      ['stop buffer_exceeded', { commit: 'buffer_call' }],
      ['stop committed', { commit: 'headers' }],
    ] as const satisfies readonly (readonly [string, Facts])[])('%s, case %#', (expected, facts) => {
      expect(outcome({ plan, random: noDraw, ...facts })).toBe(expected);
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
      ['buffer_exceeded', 'buffer_total', { end: { reach: 'unplaced', by: 'proxy' } }],
      ['committed', 'headers', { counted: 4, throttled: true, deadlineAt: millis(1001) }],
      ['committed', 'headers', { end: { pushback: pause(10) } }],
    ] as const satisfies readonly (readonly [string, string, Facts])[])(
      'stops with %s, committed by %s, case %#',
      (expected, commit, facts) => {
        expect(outcome({ ...facts, commit })).toBe(`stop ${expected}`);
      },
    );

    it('leaves a drop its own name', () => {
      expect(outcome({ end: { reach: 'dropped' }, commit: 'buffer_call' })).toBe('hold overloaded');
    });
  });
});

describe('the debit', () => {
  const plan = retryPlan();
  const off = { reach: 'unplaced', by: 'proxy' } as const;

  it.each([
    ['a listed code', true, plan, anywhere, {}],
    ['an unlisted code', false, plan, anywhere, { code: Status.INTERNAL }],
    ['a listed code with a pushback to wait', true, plan, anywhere, { pushback: pause(5) }],
    ['an unlisted code with one', false, plan, anywhere, { code: Status.INTERNAL, pushback: pause(5) }],
    ['a do-not-retry pushback on a listed code', true, plan, anywhere, { pushback: never }],
    ['a do-not-retry pushback on an unlisted code', true, plan, anywhere, { code: Status.INTERNAL, pushback: never }],
    ['a do-not-retry pushback without a policy', true, noPlan, anywhere, { pushback: never }],
    ['any code without a policy', false, noPlan, anywhere, {}],
    ['a non-fatal code', true, hedgePlan(), anywhere, {}],
    ['a fatal code', false, hedgePlan(), anywhere, { code: Status.INTERNAL }],
    ['a code where none is non-fatal', false, hedgePlan({ nonFatal: new Set() }), anywhere, {}],
    ['an attempt that found no backend, listed', true, plan, anywhere, off],
    ['a strict pin that could not be had', false, plan, pinned, off],
    ['a strict pin that was had', true, plan, pinned, {}],
    ['a drop', false, plan, anywhere, { reach: 'dropped', by: 'proxy' }],
    ['a drop that says never', false, plan, anywhere, { reach: 'dropped', by: 'proxy', pushback: never }],
  ] as const satisfies readonly (readonly [string, boolean, Plan, Placement, Partial<End>])[])(
    'PB-16: %s: %s',
    (_case, expected, of, placement, end) => {
      expect(isDebit({ plan: of, placement }, { ...listed, ...end })).toBe(expected);
    },
  );
});
