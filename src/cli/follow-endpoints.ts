import type { BackendSetting } from '../config/backend.js';
import { formatEndpointsProblem, type ParsedEndpoints, parseEndpoints } from '../config/endpoints-file.js';
import { printable } from '../config/quote.js';
import { fileProblem } from './file-problem.js';
import { followFiles, type SetFollower } from './follow-files.js';
import type { FollowIo } from './follow-service-config.js';

/** An endpoints file that was read. */
export interface LoadedEndpoints {
  readonly path: string;
  readonly text: string;
  readonly backends: readonly BackendSetting[];
}

/** What a start found. */
export type FirstEndpoints =
  | { readonly ok: true; readonly loaded: LoadedEndpoints }
  | { readonly ok: false; readonly problem: string; readonly exitCode: 1 | 2 };

/** Reads an endpoints file for a start, which a broken or missing one forbids: it was named. */
export async function loadEndpoints(
  path: string,
  readFile: (path: string) => Promise<string>,
): Promise<FirstEndpoints> {
  let text: string;
  try {
    text = await readFile(path);
  } catch (error) {
    return { ok: false, problem: `--endpoints ${fileProblem(path, error)}`, exitCode: 2 };
  }
  const parsed = parseEndpoints(text);
  if (!parsed.ok) return { ok: false, problem: firstOf(path, parsed), exitCode: 1 };
  return { ok: true, loaded: { path, text, backends: parsed.backends } };
}

/** Follows the file that a start has read: the last good one stays in force. Never throws. */
export function followEndpoints(
  { path, text }: LoadedEndpoints,
  apply: (backends: readonly BackendSetting[]) => void,
  io: Omit<FollowIo, 'apply'>,
): SetFollower {
  return followFiles<'endpoints'>(
    {
      key: 'endpoints',
      what: 'endpoints',
      paths: { endpoints: path },
      texts: { endpoints: text },
      judge({ endpoints }) {
        const parsed = parseEndpoints(endpoints ?? '');
        return parsed.ok ? null : firstOf(path, parsed);
      },
      apply({ endpoints }) {
        const parsed = parseEndpoints(endpoints ?? '');
        if (parsed.ok) apply(parsed.backends);
      },
      describe({ endpoints }) {
        const parsed = parseEndpoints(endpoints ?? '');
        const count = parsed.ok ? parsed.backends.length : 0;
        return {
          fields: { endpoints: { path, backends: count } },
          message: `${printable(path)}, ${count} ${count === 1 ? 'backend' : 'backends'}`,
          warnings: [],
        };
      },
    },
    io,
  );
}

/** The first problem with its place, and how many more there are. */
function firstOf(path: string, { problems }: Extract<ParsedEndpoints, { ok: false }>): string {
  const [first] = problems;
  const more = problems.length > 1 ? `; ${problems.length - 1} more` : '';
  return `${first === undefined ? printable(path) : formatEndpointsProblem(path, first)}${more}`;
}
