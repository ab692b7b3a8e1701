import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readText } from '../../../src/runtime/read-text.js';

describe('readText', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'hedgerow-text-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  async function read(bytes: Uint8Array): Promise<string> {
    const file = path.join(folder, 'file');
    await writeFile(file, bytes);
    return readText(file);
  }

  it('gives UTF-8 as it is, a byte order mark too', async () => {
    expect(await read(Buffer.from('\uFEFF{"é": "𝄞"}'))).toBe('\uFEFF{"é": "𝄞"}');
    expect(await read(Buffer.alloc(0))).toBe('');
  });

  it.each([
    ['a stray byte', [0x7b, 0xff, 0x7d]],
    ['UTF-16', [0xff, 0xfe, 0x7b, 0x00]],
    ['half a surrogate pair', [0xed, 0xa0, 0x80]],
  ])('refuses what is none: %s', async (_name, bytes) => {
    await expect(read(Uint8Array.from(bytes))).rejects.toThrow('it is not UTF-8 text');
  });

  it('rejects as node does where there is no file', async () => {
    await expect(readText(path.join(folder, 'none'))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
