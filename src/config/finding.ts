import type { Position } from './position.js';
import { printable } from './quote.js';

export type Severity = 'error' | 'warning';

/** Every rule of the service-config grammar, explained with an example each in docs/check-rules.md. Names are stable. */
export const rules = {
  'json-syntax': 'error',
  'wrong-type': 'error',
  'duplicate-key': 'error',
  required: 'error',
  'out-of-range': 'error',
  'bad-duration': 'error',
  'bad-status-code': 'error',
  'empty-list': 'error',
  'method-without-service': 'error',
  'duplicate-name': 'error',
  'both-policies': 'error',
  'one-policy-an-entry': 'error',
  'no-supported-policy': 'error',
  'unknown-field': 'warning',
  'misplaced-field': 'warning',
  'ignored-field': 'warning',
  'attempts-over-cap': 'warning',
  'choices-over-cap': 'warning',
  'backoff-order': 'warning',
  'hedging-without-unavailable': 'warning',
  'throttle-too-small': 'warning',
  'zero-timeout': 'warning',
  'entry-without-name': 'warning',
  'name-never-matches': 'warning',
} as const satisfies Record<string, Severity>;

export type Rule = keyof typeof rules;

/** One thing that a service config says wrongly or in vain. */
export interface Finding extends Position {
  readonly severity: Severity;
  /** `methodConfig[0].retryPolicy.maxAttempts`; `$` for the document as a whole. */
  readonly path: string;
  readonly message: string;
  readonly rule: Rule;
}

/** `FILE:LINE:COL: error|warning: PATH: MESSAGE [rule]`, without a line end. */
export function formatFinding(file: string, finding: Finding): string {
  const { line, column, severity, path, message, rule } = finding;
  return `${printable(file)}:${line}:${column}: ${severity}: ${path}: ${message} [${rule}]`;
}
