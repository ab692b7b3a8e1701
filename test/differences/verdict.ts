import type { Case } from './case-format.js';
import { mismatches } from './compare.js';
import type { CaseResult } from './run-case.js';

/**
 * Where an implementation neither did what the case expects nor what its `differs` entry says it does instead, one line each.
 * Hedgerow has no such entries.
 */
export function departures(script: Case, implementation: string, result: CaseResult): string[] {
  const known = script.differs?.[implementation]?.observed;
  if (known === 'varies') return [];
  const rejected = result === 'configRejected';
  const wanted = known === 'configRejected' || (script.configRejected === true && known !== 'configAccepted');
  if (rejected !== wanted) return [`the config was ${rejected ? 'refused' : 'taken'}`];
  if (rejected) return [];
  return (script.calls ?? []).flatMap(({ expect }, index) => {
    const seen = result[index];
    if (seen === undefined) return [`call ${index} was not made`];
    const instead = Array.isArray(known) ? known[index] : null;
    return mismatches({ ...expect, ...instead }, seen.client, seen.backend).map((line) => `call ${index}: ${line}`);
  });
}
