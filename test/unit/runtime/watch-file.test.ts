import { mkdtemp, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nodeStamp, readAgain, watchFile } from '../../../src/runtime/watch-file.js';
import { createVirtualTime } from '../../support/virtual-time.js';

/** Lets promises that are settled be heard. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a watch', () => {
  it('looks twice a second, and tells of its first look and of each other stamp', async () => {
    const time = createVirtualTime();
    let stamp: string | null = '1';
    let looks = 0;
    let told = 0;
    const ports = {
      ...time,
      stampOf: async () => {
        looks += 1;
        return stamp;
      },
    };
    const stop = watchFile('f', ports, () => {
      told += 1;
    });
    await settle();
    const pass = async (): Promise<readonly number[]> => {
      const before = looks;
      time.advance(499);
      await settle();
      expect(looks).toBe(before);
      time.advance(1);
      await settle();
      return [looks, told];
    };
    expect([looks, told]).toEqual([1, 1]);
    expect(await pass()).toEqual([2, 1]);
    stamp = '2';
    expect(await pass()).toEqual([3, 2]);
    stamp = null;
    expect(await pass()).toEqual([4, 2]);
    stamp = '1';
    expect(await pass()).toEqual([5, 3]);
    stop();
    stamp = '3';
    expect(await pass()).toEqual([5, 3]);
    expect(time.alarms.pending).toBe(0);
  });

  it('asks a file system that hangs once, and is silent when it answers after the end', async () => {
    const time = createVirtualTime();
    const answers: ((stamp: string) => void)[] = [];
    let told = 0;
    const stampOf = (): Promise<string> => new Promise((resolve) => answers.push(resolve));
    const stop = watchFile('f', { ...time, stampOf }, () => {
      told += 1;
    });
    time.advance(60_000);
    await settle();
    expect(answers).toHaveLength(1);
    stop();
    answers[0]?.('late');
    await settle();
    expect([told, time.alarms.pending]).toEqual([0, 0]);
  });
});

describe('on a file system', () => {
  let directory = '';
  beforeEach(async () => {
    directory = await mkdtemp(path.join(os.tmpdir(), 'hedgerow-watch-'));
  });
  afterEach(() => rm(directory, { recursive: true }));
  const at = (...names: readonly string[]): string => path.join(directory, ...names);

  it('the stamp differs when the file came, was written, replaced, reached by another link, and went', async () => {
    const stamps: (string | null)[] = [await nodeStamp(at('link'))];
    await writeFile(at('a'), '1');
    await writeFile(at('b'), '2');
    await symlink('a', at('link'));
    stamps.push(await nodeStamp(at('link')));
    expect(await nodeStamp(at('link'))).toBe(stamps.at(-1));
    await writeFile(at('a'), '11');
    stamps.push(await nodeStamp(at('link')));
    await symlink('b', at('next'));
    await rename(at('next'), at('link'));
    stamps.push(await nodeStamp(at('link')));
    await unlink(at('b'));
    stamps.push(await nodeStamp(at('link')));
    expect(stamps[0]).toBe('ENOENT');
    expect(stamps[4]).toBe('ENOENT');
    expect(new Set(stamps).size).toBe(4);
  });

  it('what is no file has no stamp, and is not read a second time', async () => {
    expect(await nodeStamp('/dev/null')).toBeNull();
    await expect(readAgain('/dev/null')).rejects.toThrow('not a regular file: it is read once, at the start');
    await writeFile(at('a'), 'text');
    expect(await readAgain(at('a'))).toBe('text');
    await expect(readAgain(directory)).rejects.toMatchObject({ code: 'EISDIR' });
    await expect(readAgain(at('none'))).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
