import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { PickerOptions } from '../../../src/balance/picker.js';
import type { PickQuery, Standing } from '../../../src/balance/types.js';
import { type BackendId, backendId } from '../../../src/grpc/backend-id.js';
import type { BalancingConfig } from '../../../src/grpc/balancing-config.js';
import { type Case, ScriptedHealth, tiered } from './health.js';
import { Backend, type Link, picked } from './pool.js';

/** One backend as a round of the property has it. */
interface Member extends Case {
  readonly id: BackendId;
  readonly link: Link;
  readonly until: number;
  readonly grace: boolean;
  readonly priority: number;
}

const names = ['a', 'b', 'g/1', 'g/2', 'h'];

/** A run is done again with HEDGEROW_SEED set to what fast-check printed. */
const seed = Number(process.env['HEDGEROW_SEED'] ?? Math.floor(Math.random() * 2 ** 31));

/** Mutation testing draws fewer; what the draw reaches is not looked at then. */
const allRuns = 3000;
const numRuns = Number(process.env['HEDGEROW_RUNS'] ?? allRuns);

/**
 * The order of 4.4 once more, in another manner: lists of members, the first that is not empty. Gives the ids that a pick may come
 * to, or the one kind of answer.
 */
function reckon(
  all: readonly Member[],
  query: PickQuery,
  { hedgeDistinct, pinOnParked }: PickerOptions,
): readonly string[] {
  const { bounds, cause } = query;
  const named = (id: string, target: string): boolean => id === target || id.startsWith(`${target}/`);
  const pin = bounds?.only ?? null;
  const reach = all
    .filter(({ id }) => !query.failed.includes(id))
    .filter(({ id }) => pin === null || named(id, pin))
    .filter(({ id }) => !(bounds?.exclude ?? []).some((target) => named(id, target)));
  const wasTried = ({ id }: Member): boolean => query.tried.includes(id);
  const distinct = hedgeDistinct && cause === 'hedge';
  const left = distinct ? reach.filter((one) => !wasTried(one)) : reach;
  const open = left.filter(({ link }) => link !== 'backoff' && link !== 'full');
  const full = left.some(({ link }) => link === 'full');
  const triedOpen = distinct && reach.some((one) => wasTried(one) && one.link !== 'backoff' && one.link !== 'full');
  const triedAny = distinct && reach.some(wasTried);

  const lapsedForUs = (one: Member): boolean =>
    (one.standing === 'lapsed' && (pin !== null || query.guarded || one.grace)) ||
    (one.standing === 'probing' && pin !== null && bounds?.strict === true);
  const well = ({ standing }: Member): boolean => standing === 'clean' || standing === 'recent';
  const ready = ({ link }: Member): boolean => link === 'ready';
  const connectedFirst = (members: readonly Member[]): readonly (readonly Member[])[] => [
    members.filter(ready),
    members.filter((one) => !ready(one)),
  ];
  const usableLists = (of: readonly Member[]): readonly (readonly Member[])[] => {
    const untried = of.filter((one) => !wasTried(one));
    const up = untried.filter((one) => well(one) && ready(one));
    const clean = up.filter(({ standing }) => standing === 'clean');
    return [
      ...(cause === 'first' ? [up] : [clean, up]),
      ...connectedFirst(untried.filter(lapsedForUs)),
      untried.filter((one) => well(one) && !ready(one)),
      of.filter((one) => wasTried(one) && well(one) && ready(one)),
      of.filter((one) => wasTried(one) && (well(one) ? !ready(one) : lapsedForUs(one))),
    ];
  };
  const ids = (members: readonly Member[]): readonly string[] => members.map(({ id }) => id);
  const soonest = (members: readonly Member[]): readonly string[] => {
    const end = Math.min(...members.map(({ until }) => until));
    return ids(members.filter(({ until }) => until === end));
  };
  const firstOf = (lists: readonly (readonly Member[])[]): readonly Member[] =>
    lists.find(({ length }) => length > 0) ?? [];

  const priorities = [0, 1, 2];
  const used = priorities.find((priority) =>
    usableLists(open.filter((one) => one.priority === priority)).some(({ length }) => length > 0),
  );

  const probes = open.filter((one) => lapsedForUs(one) && ready(one) && !wasTried(one));
  if (cause === 'first' && pin === null && probes.length > 0) {
    const lowest = Math.min(...probes.map(({ priority }) => priority));
    if (used === undefined || lowest <= used) return soonest(probes.filter(({ priority }) => priority === lowest));
  }
  if (used !== undefined) return ids(firstOf(usableLists(open.filter(({ priority }) => priority === used))));

  const limited = open.filter(({ standing }) => standing === 'rate_limited');
  const breached = open.filter(({ standing }) => standing === 'breached');
  const parked = open.filter(
    (one) => !lapsedForUs(one) && (['parked', 'probing', 'lapsed'] as Standing[]).includes(one.standing),
  );
  const inOrder = (members: readonly Member[]): readonly Member[] => firstOf(connectedFirst(members));
  const untried = (members: readonly Member[]) => inOrder(members.filter((one) => !wasTried(one)));
  const tried = (members: readonly Member[]) => inOrder(members.filter(wasTried));
  const worn = [untried(breached), tried(breached)].map(ids);
  const held = [untried(limited), tried(limited)].map(soonest);
  const away = [untried(parked), tried(parked)].map(soonest);
  const some = (lists: readonly (readonly string[])[]): readonly string[] =>
    lists.find(({ length }) => length > 0) ?? [];

  if (pin !== null) {
    const better = some([...worn, ...held]);
    if (better.length > 0) return better;
    const nobodyBetter = all.every(({ standing, link }) => standing === 'parked' || link === 'backoff');
    if (parked.length > 0 && (pinOnParked === 'try' || nobodyBetter)) return some(away);
    if (parked.length > 0) return full ? ['overloaded'] : [bounds?.strict === true ? 'parked' : 'none'];
  } else if (cause === 'hedge') {
    if (breached.length > 0) return some(worn);
    if (triedOpen) return ['skipped'];
    if (full) return ['overloaded'];
    if (open.length > 0) return some([...held, ...away]);
  } else if (open.length > 0) {
    const [breachedAnew = [], breachedAgain = []] = worn;
    const [parkedAnew = [], parkedAgain = []] = away;
    return some([...held, breachedAnew, parkedAnew, breachedAgain, parkedAgain]);
  }
  if (triedOpen) return ['skipped'];
  if (full) return ['overloaded'];
  return [triedAny ? 'skipped' : 'none'];
}

const member = fc.record({
  link: fc.constantFrom<Link>('ready', 'ready', 'busy', 'idle', 'connecting', 'backoff', 'full'),
  standing: fc.constantFrom<Standing>(
    'clean',
    'recent',
    'lapsed',
    'probing',
    'breached',
    'rate_limited',
    'parked',
    'parked',
  ),
  until: fc.integer({ min: 1, max: 4 }),
  grace: fc.boolean(),
  priority: fc.constantFrom(0, 0, 1, 2),
});
const someIds = fc.subarray(names).map((some) => some.map(backendId));
const targets = [...names, 'g', 'x'];
const bounds = fc.record({
  only: fc.option(fc.constantFrom(...targets), { nil: null }),
  strict: fc.boolean(),
  exclude: fc.subarray(targets, { maxLength: 2 }),
});
const asked = fc.record({
  tried: someIds,
  failed: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: someIds }),
  bounds: fc.option(bounds, { nil: null }),
  cause: fc.constantFrom<PickQuery['cause']>('first', 'retry', 'hedge', 'transparent'),
  guarded: fc.boolean(),
  now: fc.constant(0),
});
const options = fc.record({
  hedgeDistinct: fc.boolean(),
  pinOnParked: fc.constantFrom('fail' as const, 'try' as const),
});
const config = fc.constantFrom<BalancingConfig>(
  { kind: 'round_robin' },
  { kind: 'pick_first', shuffle: true },
  { kind: 'least_request', choiceCount: 3 },
);

it('BAL-01, BAL-03, BAL-16: every pick is one that a second reckoning of the tiers allows, whatever the order inside a tier', () => {
  const kinds = new Map<string, number>();
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.array(member, { minLength: 5, maxLength: 5 }), asked), { minLength: 1, maxLength: 4 }),
      options,
      config,
      fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { minLength: 1 }),
      (rounds, chosen, policy, draws) => {
        const health = new ScriptedHealth();
        let drawn = 0;
        const random = () => draws[drawn++ % draws.length] ?? 0;
        const picker = tiered(health, chosen, policy, random);
        for (const [members, query] of rounds) {
          const all = members.map((one, at) => ({ ...one, id: backendId(names[at] ?? '') }));
          const candidates = all.map(({ id, link, priority }) => {
            const backend = new Backend(id, link);
            backend.priority = priority;
            return backend;
          });
          for (const one of all) health.put(one.id, one);
          const pick = picker.pick(candidates, query);
          kinds.set(pick.kind, (kinds.get(pick.kind) ?? 0) + 1);
          expect(reckon(all, query, chosen)).toContain(picked(pick));
          if (pick.kind === 'parked') expect(pick.until).toBe(all.find(({ id }) => id === pick.id)?.until);
        }
      },
    ),
    { seed, numRuns },
  );
  if (numRuns < allRuns) return;
  for (const kind of ['use', 'none', 'overloaded', 'parked', 'skipped']) {
    expect(kinds.get(kind) ?? 0, kind).toBeGreaterThan(20);
  }
});
