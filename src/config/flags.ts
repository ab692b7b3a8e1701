import { didYouMean } from './nearest.js';
import { printable, quote } from './quote.js';

/** What a flag takes. */
export interface FlagShape {
  /** A switch has no value at all. */
  readonly value: 'required' | 'optional' | 'none';
  /** What a bare flag with an optional value means. */
  readonly bare: string | null;
  /** Values of an optional one that stand as an argument of their own. */
  readonly words: readonly string[];
}

export interface ReadFlags {
  /** Each flag's values in order, without the dashes: `drain-timeout`; a switch has `''`. */
  readonly values: ReadonlyMap<string, readonly string[]>;
  readonly positionals: readonly string[];
}

/**
 * Splits what follows a command into flags and positionals. `--flag VALUE` and `--flag=VALUE`; `--` ends the flags.
 * A value that begins with two dashes has to be given with `=`.
 */
export function readFlags(
  argv: readonly string[],
  shapes: ReadonlyMap<string, FlagShape>,
): { readonly ok: true; readonly flags: ReadFlags } | { readonly ok: false; readonly problem: string } {
  const values = new Map<string, string[]>();
  const positionals: string[] = [];
  for (let i = 0; i < argv.length; i++) {
    const argument = argv[i] ?? '';
    if (argument === '--') {
      positionals.push(...argv.slice(i + 1));
      break;
    }
    if (!argument.startsWith('-') || argument === '-') {
      positionals.push(argument);
      continue;
    }
    const [, dashes = '', name = '', , inline] = /^(-+)([^=]*)(=(.*))?$/s.exec(argument) ?? [];
    const shape = dashes === '--' ? shapes.get(name) : undefined;
    if (shape === undefined) return { ok: false, problem: unknownFlag(`${dashes}${name}`, name, shapes) };
    const next = argv[i + 1];
    let value = inline;
    if (shape.value === 'none') {
      if (inline !== undefined) return { ok: false, problem: `--${name} takes no value; got ${quote(inline)}` };
      value = '';
    } else if (value === undefined && shape.value === 'optional') {
      value = next !== undefined && shape.words.includes(next) ? argv[++i] : (shape.bare ?? '');
    } else if (value === undefined && next !== undefined && !next.startsWith('--')) value = argv[++i];
    if (value === undefined) return { ok: false, problem: `--${name} needs a value` };
    values.set(name, [...(values.get(name) ?? []), value]);
  }
  return { ok: true, flags: { values, positionals } };
}

function unknownFlag(given: string, name: string, shapes: ReadonlyMap<string, FlagShape>): string {
  const hint = didYouMean(name, shapes.keys()).replace('mean ', 'mean --');
  return `unknown flag ${printable(given.slice(0, 60))}${hint}`;
}
