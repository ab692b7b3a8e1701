import { type Finding, type Rule, rules } from './finding.js';
import { createLocator } from './position.js';
import { quote } from './quote.js';

/** Gathers findings in any order. */
export interface Report {
  /** `path` is `''` for the document as a whole. */
  add(rule: Rule, offset: number, path: string, message: string): void;
  /** In file order; what was added first comes first at one place. */
  findings(): readonly Finding[];
}

export function createReport(text: string): Report {
  const locate = createLocator(text);
  const found: { readonly offset: number; readonly finding: Finding }[] = [];
  return {
    add(rule, offset, path, message) {
      const finding = { ...locate(offset), severity: rules[rule], path: path === '' ? '$' : path, message, rule };
      found.push({ offset, finding });
    },
    findings: () => found.toSorted((a, b) => a.offset - b.offset).map(({ finding }) => finding),
  };
}

/** The path of a member: `a.b`, or `a["odd key"]`. */
export function memberPath(path: string, key: string): string {
  if (!/^[\w$]{1,60}$/.test(key)) return `${path}[${quote(key)}]`;
  return path === '' ? key : `${path}.${key}`;
}

export function itemPath(path: string, index: number): string {
  return `${path}[${index}]`;
}
