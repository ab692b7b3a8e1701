import { run } from '../../src/cli/run.js';

/** What a command said, and its exit code. */
export interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Commands that read files, which are these by name, and run nothing; 80 columns. */
export function commandsOn(files: Readonly<Record<string, string>>): (...argv: readonly string[]) => Promise<Said> {
  return async (...argv) => {
    const out: string[] = [];
    const err: string[] = [];
    const unused = () => Promise.reject(new Error('not to be run'));
    const code = await run(
      argv,
      {
        env: {},
        readFile: async (path) => {
          const text = files[path];
          if (text === undefined) throw Object.assign(new Error('ENOENT: no such file'), { code: 'ENOENT' });
          return text;
        },
        stdout: (text) => out.push(text),
        stderr: (text) => err.push(text),
        columns: 80,
        localAddresses: [],
        version: '1.2.3',
      },
      { serve: unused, demo: unused, top: unused },
    );
    return { code, out: out.join(''), err: err.join('') };
  };
}
