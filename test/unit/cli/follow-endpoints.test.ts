import { describe, expect, it } from 'vitest';
import { followEndpoints, loadEndpoints } from '../../../src/cli/follow-endpoints.js';
import { createVirtualTime } from '../../support/virtual-time.js';

const one = '{"backends":[{"name":"b1","target":"10.0.0.1:1"}]}';
const two = '{"backends":[{"name":"b1","target":"10.0.0.1:1"},{"name":"b2","target":"10.0.0.2:1"}]}';

/** Lets promises that are settled be heard. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function rig(): Promise<{
  applied: string[][];
  told: string[];
  write(text: string | null, ms: number): Promise<void>;
  hangUp(): Promise<void>;
  stop(): void;
}> {
  const time = createVirtualTime();
  let file: string | null = one;
  let onChange = (): void => {};
  const applied: string[][] = [];
  const told: string[] = [];
  const readAgain = async (): Promise<string> => {
    if (file === null) throw Object.assign(new Error('no'), { code: 'ENOENT' });
    return file;
  };
  const first = await loadEndpoints('f.json', readAgain);
  if (!first.ok) throw new Error(first.problem);
  const follower = followEndpoints(first.loaded, (backends) => applied.push(backends.map(({ name }) => name)), {
    readAgain,
    watch: (_path, listener) => {
      onChange = listener;
      return () => {};
    },
    ports: time,
    tell: (level, _fields, message) => told.push(`${level}: ${message}`),
  });
  return {
    applied,
    told,
    async write(text, ms) {
      file = text;
      onChange();
      for (let rest = ms; rest > 0; rest -= 10) {
        time.advance(Math.min(10, rest));
        await settle();
      }
    },
    async hangUp() {
      follower.ask();
      await settle();
    },
    stop: () => follower.stop(),
  };
}

describe('an endpoints file that is followed', () => {
  it('FND-22: another file is in force as soon as it is quiet', async () => {
    const { applied, told, write } = await rig();
    await write(two, 60);
    expect(applied).toEqual([['b1', 'b2']]);
    expect(told).toEqual(['info: endpoints: a new file in force: f.json, 2 backends']);
  });

  it.each([
    ['{"backends":[', 'f.json:1:14: $: '],
    ['{"backends":[{"name":"b2"}]}', 'f.json:1:14: backends[0].target: missing; must be a string'],
    [null, 'f.json: no such file'],
  ])('FND-23: a broken or missing one changes nothing and is told: %j', async (text, problem) => {
    const { applied, told, write } = await rig();
    await write(text, 1900);
    expect(told).toEqual([]);
    await write(text, 300);
    expect(applied).toEqual([]);
    expect(told).toHaveLength(1);
    expect(told[0]).toContain(`warn: endpoints: the file is of no use, the one read before stays in force: ${problem}`);
    await write(one, 60);
    expect(told[1]).toBe('info: endpoints: the file is again the one in force: f.json, 1 backend');
    expect(applied).toEqual([]);
  });

  it('FND-22: SIGHUP reads it at once, and tells what is wrong at once', async () => {
    const { told, write, hangUp } = await rig();
    await hangUp();
    await write('{}', 0);
    await hangUp();
    expect(told).toEqual([
      'info: endpoints: unchanged: f.json, 1 backend',
      expect.stringContaining('warn: endpoints: the file is of no use'),
    ]);
  });
});

describe('an endpoints file at the start', () => {
  it.each([
    [null, 2, '--endpoints f.json: no such file'],
    ['{}', 1, 'f.json:1:1: backends: missing; write {"backends": ['],
    ['{"backends":[{},{}]}', 1, 'f.json:1:14: backends[0].name: missing; must be a string; 3 more'],
  ])('FND-24: %j forbids it', async (text, exitCode, problem) => {
    const result = await loadEndpoints('f.json', async () => {
      if (text === null) throw Object.assign(new Error('no'), { code: 'ENOENT' });
      return text;
    });
    expect(result).toEqual({ ok: false, exitCode, problem: expect.stringContaining(problem) });
  });
});
