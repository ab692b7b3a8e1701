import type { Parsed } from '../config/parsed.js';
import { quote } from '../config/quote.js';
import type { MethodPath } from './governing-entry.js';

/** A longer one is no help (characters). */
const longestSuggestion = 100;

/** The operands FILE and /pkg.Service/Method of a command. @param command its name, for what to write instead */
export function readOperands(
  positionals: readonly string[],
  command: string,
): Parsed<{ readonly file: string; readonly method: MethodPath }> {
  const synopsis = `write hedgerow ${command} FILE /pkg.Service/Method`;
  const [file, method, stray] = positionals;
  if (file === undefined || file === '') return wrong(`no file; ${synopsis}`);
  if (method === undefined) return wrong(`no method; ${synopsis}`);
  if (stray !== undefined) return wrong(`one method at a time; ${quote(stray)} is a second one`);
  const path = readMethod(method);
  if (path === null) return wrong(`${quote(method)} is no method's path; ${suggestion(method)}`);
  return { ok: true, value: { file, method: path } };
}

/** Split at the last slash, as a `:path` is (CFG-26). */
function readMethod(text: string): MethodPath | null {
  const [, service, method] = /^\/(.+)\/([^/]*)$/s.exec(text) ?? [];
  return service === undefined || method === undefined || /\s/.test(text) ? null : { service, method };
}

function suggestion(text: string): string {
  const [, service, method] = /^\/?([\w.]+)[/.](\w+)$/.exec(text) ?? [];
  const meant = service === undefined || method === undefined ? null : `/${service}/${method}`;
  return meant === null || meant === text || meant.length > longestSuggestion
    ? 'write /pkg.Service/Method'
    : `write ${meant}`;
}

function wrong(problem: string): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem };
}
