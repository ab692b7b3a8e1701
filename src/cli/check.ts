import { formatFinding } from '../config/finding.js';
import { printable } from '../config/quote.js';
import { parseServiceConfig } from '../config/service-config.js';

export interface CheckOptions {
  readonly json: boolean;
  /** Warnings fail too. */
  readonly strict: boolean;
  readonly maxAttemptsLimit: number;
}

export interface CheckResult {
  readonly stdout: string;
  /** One line for a person, empty with --json; not part of the output that is scripted against. */
  readonly summary: string;
  /** 0 valid, 1 not. */
  readonly exitCode: 0 | 1;
}

/** `hedgerow check`: every finding in the text of a service config. */
export function check(text: string, fileName: string, options: CheckOptions): CheckResult {
  const { findings } = parseServiceConfig(text, options);
  const errors = findings.filter(({ severity }) => severity === 'error').length;
  const warnings = findings.length - errors;
  const exitCode = errors > 0 || (options.strict && warnings > 0) ? 1 : 0;
  if (options.json) {
    const rows = findings.map(({ line, column, severity, path, message, rule }) => {
      return { file: fileName, line, column, severity, path, message, rule };
    });
    return { stdout: `${JSON.stringify(rows, null, 2)}\n`, summary: '', exitCode };
  }
  const stdout = findings.map((finding) => `${formatFinding(fileName, finding)}\n`).join('');
  const verdict = exitCode === 0 ? 'valid' : errors === 0 ? 'valid, but --strict lets no warning pass' : 'invalid';
  const summary = `${printable(fileName)}: ${verdict} (${counted(errors, 'error')}, ${counted(warnings, 'warning')})\n`;
  return { stdout, summary, exitCode };
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}
