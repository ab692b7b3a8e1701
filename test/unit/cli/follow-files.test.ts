import { describe, expect, it } from 'vitest';
import { type FileSet, followFiles, type SetFollower } from '../../../src/cli/follow-files.js';
import { createVirtualTime } from '../../support/virtual-time.js';

type Key = 'cert' | 'key' | 'ca';

/** Lets promises that are settled be heard. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A certificate and a key that fit when they hold the same word, and a CA file that is not named. */
class Rig {
  readonly time = createVirtualTime();
  readonly files = new Map<string, string>([
    ['a.crt', 'one'],
    ['a.key', 'one'],
  ]);
  readonly watching = new Set<string>();
  readonly applied: FileSet<Key>[] = [];
  readonly told: string[] = [];
  readonly reloads: string[] = [];
  reads = 0;
  refuseAll = false;
  private change: () => void = () => {};
  readonly follower: SetFollower;

  constructor() {
    this.follower = followFiles<Key>(
      {
        key: 'client_tls',
        what: 'TLS',
        paths: { cert: 'a.crt', key: 'a.key', ca: null },
        texts: { cert: 'one', key: 'one', ca: null },
        judge: ({ cert, key }) => (cert === key ? null : `${key} is not the key of ${cert}`),
        apply: (texts) => {
          if (this.refuseAll) throw new Error('refused');
          this.applied.push(texts);
        },
        describe: ({ cert }) => ({ fields: {}, message: `it is ${cert}`, warnings: cert === 'old' ? ['too old'] : [] }),
      },
      {
        readAgain: async (path) => {
          this.reads += 1;
          const text = this.files.get(path);
          if (text === undefined) throw Object.assign(new Error('no'), { code: 'ENOENT' });
          return text;
        },
        watch: (path, onChange) => {
          this.watching.add(path);
          this.change = onChange;
          return () => this.watching.delete(path);
        },
        ports: this.time,
        tell: (level, _fields, message) => this.told.push(`${level}: ${message}`),
        reloaded: (what, outcome) => this.reloads.push(`${what} ${outcome}`),
      },
    );
  }

  /** Writes files, lets the watch see it, and so much time pass. */
  async write(files: Readonly<Record<string, string | null>>, ms: number): Promise<void> {
    for (const [path, text] of Object.entries(files)) {
      if (text === null) this.files.delete(path);
      else this.files.set(path, text);
    }
    this.change();
    await this.pass(ms);
  }

  async pass(ms: number): Promise<void> {
    // In steps: a read that an alarm starts is over before the next one rings.
    for (let rest = ms; rest > 0; rest -= 10) {
      this.time.advance(Math.min(10, rest));
      await settle();
    }
  }
}

const two = { 'a.crt': 'two', 'a.key': 'two' };

describe('files that are followed together', () => {
  it('are read 50 ms after a change, applied as one, and told', async () => {
    const rig = new Rig();
    expect([...rig.watching]).toEqual(['a.crt', 'a.key']);
    await rig.write(two, 40);
    expect(rig.reads).toBe(0);
    await rig.pass(10);
    expect(rig.applied).toEqual([{ cert: 'two', key: 'two', ca: null }]);
    expect(rig.told).toEqual(['info: TLS: new files in force: it is two']);
    expect(rig.time.alarms.pending).toBe(0);
  });

  it('are counted by what came of a read: bad news once they are told', async () => {
    const rig = new Rig();
    await rig.write(two, 100);
    await rig.write({}, 100);
    await rig.write({ 'a.crt': 'three' }, 1900);
    expect(rig.reloads).toEqual(['client_tls applied', 'client_tls unchanged']);
    await rig.pass(500);
    expect(rig.reloads.slice(2)).toEqual(['client_tls rejected']);
  });

  it('that hold what is in force are neither applied nor told', async () => {
    const rig = new Rig();
    await rig.write({}, 100);
    expect([rig.reads, rig.applied, rig.told]).toEqual([2, [], []]);
  });

  it('TLS-17: written one after the other within two seconds are not told as broken', async () => {
    const rig = new Rig();
    await rig.write({ 'a.crt': 'two' }, 1900);
    expect(rig.told).toEqual([]);
    await rig.write({ 'a.key': 'two' }, 50);
    expect(rig.told).toEqual(['info: TLS: new files in force: it is two']);
    await rig.pass(5000);
    expect(rig.told).toHaveLength(1);
  });

  it('TLS-16: that stay broken are told once, and those before stay in force', async () => {
    const rig = new Rig();
    await rig.write({ 'a.crt': 'two' }, 2040);
    expect(rig.told).toEqual([]);
    await rig.pass(20);
    const line = 'warn: TLS: the files are of no use, those read before stay in force: one is not the key of two';
    expect(rig.told).toEqual([line]);
    await rig.write({}, 5000);
    expect([rig.told, rig.applied]).toEqual([[line], []]);
    await rig.write({ 'a.crt': 'one' }, 100);
    expect(rig.told.slice(1)).toEqual(['info: TLS: the files are again those in force: it is one']);
    // Broken again is news again.
    await rig.write({ 'a.crt': 'two' }, 2100);
    expect(rig.told.slice(2)).toEqual([line]);
  });

  it('that are broken in one way after the other are told all the same', async () => {
    const rig = new Rig();
    for (let i = 0; i < 10; i += 1) await rig.write({ 'a.crt': `draft ${i}` }, 300);
    expect(rig.told).toEqual([expect.stringMatching(/^warn: .* one is not the key of draft 6$/)]);
  });

  it('that are never quiet are read within a second', async () => {
    const rig = new Rig();
    for (let i = 0; i < 24; i += 1) await rig.write(two, 40);
    expect(rig.applied).toEqual([]);
    for (let i = 0; i < 2; i += 1) await rig.write(two, 40);
    expect(rig.applied).toHaveLength(1);
  });

  it('of which one is gone are bad news like others', async () => {
    const rig = new Rig();
    await rig.write({ 'a.key': null }, 2100);
    expect(rig.told).toEqual([expect.stringMatching(/^warn: .*in force: a\.key: no such file$/)]);
  });

  it('that cannot be applied leave those before in force', async () => {
    const rig = new Rig();
    rig.refuseAll = true;
    await rig.write(two, 2100);
    expect(rig.told).toEqual(['warn: TLS: the files are of no use, those read before stay in force: refused']);
    rig.refuseAll = false;
    await rig.write({}, 100);
    expect(rig.applied).toHaveLength(1);
  });

  it('are taken with what is to be warned of', async () => {
    const rig = new Rig();
    await rig.write({ 'a.crt': 'old', 'a.key': 'old' }, 100);
    expect(rig.told).toEqual(['info: TLS: new files in force: it is old', 'warn: too old']);
  });
});

describe('who asks', () => {
  it('gets an answer at once, whatever it is', async () => {
    const rig = new Rig();
    rig.follower.ask();
    await settle();
    expect(rig.told).toEqual(['info: TLS: unchanged: it is one']);
    rig.files.set('a.crt', 'two');
    rig.follower.ask();
    await settle();
    rig.follower.ask();
    await settle();
    const broken = expect.stringMatching(/^warn: .* one is not the key of two$/);
    expect(rig.told.slice(1)).toEqual([broken, broken]);
    expect(rig.time.alarms.pending).toBe(0);
  });

  it('during a read gets one that began after the question', async () => {
    const rig = new Rig();
    rig.follower.ask();
    rig.follower.ask();
    await settle();
    expect(rig.told).toEqual(Array(2).fill('info: TLS: unchanged: it is one'));
  });

  it('after the end gets none, and nothing is watched or applied', async () => {
    const rig = new Rig();
    rig.follower.ask();
    rig.files.set('a.crt', 'two');
    rig.files.set('a.key', 'two');
    rig.follower.stop();
    rig.follower.ask();
    await rig.write(two, 3000);
    expect([rig.applied, rig.told, rig.watching.size, rig.time.alarms.pending]).toEqual([[], [], 0, 0]);
  });
});

describe('how it stands with the files', () => {
  it('ADM-23, ADM-25: is what the last read came to that was told, and whoever asks is told at once', async () => {
    const rig = new Rig();
    const start = rig.time.clock.now();
    const paths = { cert: 'a.crt', key: 'a.key' };
    expect(rig.follower.state).toEqual({ paths, outcome: 'applied', readAt: start, appliedAt: start, problem: null });
    rig.time.advance(1000);
    expect(await rig.follower.ask()).toEqual({ outcome: 'unchanged', problem: null });
    expect(rig.follower.state).toMatchObject({ outcome: 'unchanged', readAt: start + 1000, appliedAt: start });
    rig.time.advance(1000);
    rig.files.set('a.crt', 'two');
    const problem = 'one is not the key of two';
    expect(await rig.follower.ask()).toEqual({ outcome: 'rejected', problem });
    expect(rig.follower.state).toEqual({ paths, outcome: 'rejected', readAt: start + 2000, appliedAt: start, problem });
    rig.time.advance(1000);
    rig.files.set('a.key', 'two');
    expect(await rig.follower.ask()).toEqual({ outcome: 'applied', problem: null });
    expect(rig.follower.state).toMatchObject({ readAt: start + 3000, appliedAt: start + 3000, problem: null });
  });

  it('ADM-25: who asks during a read hears of the next one', async () => {
    const rig = new Rig();
    const asked = [rig.follower.ask(), rig.follower.ask()];
    // The first read has the old certificate already, and comes to the new key.
    rig.files.set('a.crt', 'two');
    rig.files.set('a.key', 'two');
    expect((await Promise.all(asked)).map((result) => result?.outcome)).toEqual(['rejected', 'applied']);
  });

  it('ADM-27: who waits when they are let go of hears that nothing was read', async () => {
    const rig = new Rig();
    const asked = [rig.follower.ask(), rig.follower.ask()];
    rig.follower.stop();
    expect(await Promise.all([...asked, rig.follower.ask()])).toEqual([null, null, null]);
  });
});
