import { isDeepStrictEqual } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Case, CaseCall, Expect } from './case-format.js';
import { cases, groups } from './cases.js';
import { type CaseResult, runCase, type Via } from './run-case.js';
import { departures } from './verdict.js';

/*
 * The same cases through hedgerow and through a grpc-js channel (README.md). They run a few at a time before the tests look at
 * what came of them: most of a case is waiting.
 */

const together = 16;

type Outcome = { readonly result: CaseResult } | { readonly error: unknown };

const outcomes = new Map<string, Outcome>();

async function run(script: Case, via: Via): Promise<void> {
  const outcome = await runCase(script, via).then(
    (result): Outcome => ({ result }),
    (error: unknown): Outcome => ({ error }),
  );
  outcomes.set(`${via} ${script.id}`, outcome);
}

beforeAll(async () => {
  const left = cases.flatMap((script) => [() => run(script, 'hedgerow'), () => run(script, 'grpc-js')]);
  const work = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await next();
  };
  await Promise.all(Array.from({ length: together }, work));
});

function outcomeOf(script: Case, via: Via): CaseResult {
  const outcome = outcomes.get(`${via} ${script.id}`);
  if (outcome === undefined) throw new Error(`${script.id} was not run through ${via}`);
  if ('error' in outcome) throw outcome.error;
  return outcome.result;
}

describe.each(groups)('$name', (group) => {
  describe('hedgerow does as A6 says', () => {
    it.each(group.cases)('$id: $title', (script) => {
      expect(departures(script, 'hedgerow', outcomeOf(script, 'hedgerow'))).toEqual([]);
    });
  });
  describe('grpc-js does so too, or what the data says of it', () => {
    it.each(group.cases)('$id: $title', (script) => {
      expect(departures(script, 'grpc-js', outcomeOf(script, 'grpc-js'))).toEqual([]);
    });
  });
});

function isOtherwise({ expect: wanted }: CaseCall, instead: Expect | null | undefined): boolean {
  return Object.entries({ ...wanted, ...instead }).some(
    ([key, value]) => !isDeepStrictEqual(value, Object.entries(wanted).find(([name]) => name === key)?.[1]),
  );
}

describe('the data', () => {
  it('has at least sixty cases, each with an id of its own, rows, and calls or a refusal', () => {
    expect(cases.length).toBeGreaterThanOrEqual(60);
    expect(new Set(cases.map(({ id }) => id)).size).toBe(cases.length);
    const hollow = cases.filter(({ rows, calls, configRejected }) => {
      return rows.length === 0 || (configRejected === true) === (calls !== undefined && calls.length > 0);
    });
    expect(hollow.map(({ id }) => id)).toEqual([]);
  });

  it('says of each difference what is otherwise than expected', () => {
    const empty = cases.flatMap(({ id, calls = [], differs = {} }) =>
      Object.entries(differs)
        .filter(
          ([, { observed }]) => Array.isArray(observed) && !calls.some((call, n) => isOtherwise(call, observed[n])),
        )
        .map(([name]) => `${id} of ${name}`),
    );
    expect(empty).toEqual([]);
  });
});
