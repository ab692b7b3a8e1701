import { legible } from '../grpc/legible.js';

const words: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EACCES: 'no permission to read it',
  EPERM: 'no permission to read it',
  EISDIR: 'is a directory, not a file',
  ENOTDIR: 'part of its path is not a directory',
  ELOOP: 'too many symbolic links',
  ENAMETOOLONG: 'its name is too long',
};

/** Why a file could not be read, in one phrase with its name, from what the reading threw. */
export function fileProblem(path: string, error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
  const message = error instanceof Error ? error.message.split('\n', 1)[0] : String(error);
  return `${legible(path)}: ${words[code] ?? `cannot be read: ${legible(message ?? '')}`}`;
}
