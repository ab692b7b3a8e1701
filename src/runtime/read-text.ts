import { readFile } from 'node:fs/promises';

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * A file's text. What is not UTF-8 is no text here: a replacement character in a name would match nothing, and nobody would
 * know (RFC 8259 8.1).
 *
 * @returns rejects as `node:fs/promises` does, or with the sentence that it is not UTF-8
 */
export async function readText(path: string): Promise<string> {
  const bytes = await readFile(path);
  try {
    return utf8.decode(bytes);
  } catch {
    throw new Error('it is not UTF-8 text; save it as UTF-8');
  }
}
