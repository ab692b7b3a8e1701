import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { rules, type Severity } from '../../../src/config/finding.js';
import { parse } from './config-text.js';

const page = readFileSync(new URL('../../../docs/check-rules.md', import.meta.url), 'utf8');

interface Documented {
  readonly rule: string;
  readonly severity: Severity;
  readonly example: string;
}

/** The page's sections: severity by the heading above, the rule's name, its one example. */
const documented: readonly Documented[] = page
  .split(/^## /m)
  .slice(1)
  .flatMap((part): Documented[] => {
    const severity = part.startsWith('Errors') ? 'error' : 'warning';
    return part
      .split(/^### /m)
      .slice(1)
      .map((section) => ({
        severity,
        rule: section.split('\n', 1)[0] ?? '',
        example: /```json\n([\s\S]*?)```/.exec(section)?.[1] ?? '',
      }));
  });

describe('docs/check-rules.md', () => {
  it('lists every rule with its severity, in the order of the code, and no other', () => {
    expect(documented.map(({ rule, severity }) => [rule, severity])).toEqual(Object.entries(rules));
  });

  it.each(documented)('the example of $rule breaks it', ({ rule, severity, example }) => {
    const { findings } = parse(example);
    expect(findings).toContainEqual(expect.objectContaining({ rule, severity }));
  });
});
