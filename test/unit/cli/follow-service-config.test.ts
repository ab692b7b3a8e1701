import { describe, expect, it } from 'vitest';
import { type ConfigFollower, followServiceConfig } from '../../../src/cli/follow-service-config.js';
import { judgeText } from '../../../src/cli/load-service-config.js';
import type { ServiceConfig } from '../../../src/config/service-config.js';
import { createVirtualTime } from '../../support/virtual-time.js';

const path = 'sc.json';
const text = (service: string): string => JSON.stringify({ methodConfig: [{ name: [{ service }] }] });

/** Lets promises that are settled be heard. */
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A follower whose reads wait for the test's answers. */
class Rig {
  readonly time = createVirtualTime();
  readonly reads: { give(text: string): Promise<void>; fail(code: string): Promise<void> }[] = [];
  readonly applied: (string | undefined)[] = [];
  readonly told: string[] = [];
  watching = true;
  change: () => void = () => {};
  readonly follower: ConfigFollower;

  constructor() {
    const judged = judgeText(path, text('first'), 5);
    if (!judged.ok) throw new Error(judged.problem);
    this.follower = followServiceConfig(path, judged, {
      readAgain: () =>
        new Promise((resolve, reject) => {
          this.reads.push({
            give: (given) => {
              resolve(given);
              return settle();
            },
            fail: (code) => {
              reject(Object.assign(new Error('no'), { code }));
              return settle();
            },
          });
        }),
      watch: (_path, onChange) => {
        this.change = onChange;
        return () => {
          this.watching = false;
        };
      },
      ports: this.time,
      tell: (level, _fields, message) => this.told.push(`${level}: ${message}`),
      apply: (config) => this.applied.push(serviceOf(config)),
    });
  }
}

function serviceOf({ methodConfig: [entry] }: ServiceConfig): string | undefined {
  const name = entry?.names[0];
  return name?.kind === 'service' ? name.service : undefined;
}

describe('a followed file', () => {
  it('is read when a change is 50 ms old, and what it holds is applied', async () => {
    const rig = new Rig();
    rig.change();
    rig.time.advance(49);
    expect(rig.reads).toHaveLength(0);
    rig.time.advance(1);
    await rig.reads[0]?.give(text('second'));
    expect(rig.applied).toEqual(['second']);
    expect(rig.follower.source.inForce.config).toMatchObject({ methodConfig: [{ names: [{ service: 'second' }] }] });
    expect(rig.told).toEqual([expect.stringMatching(/^info: service config sc\.json: version \w{12} in force/)]);
    expect(rig.time.alarms.pending).toBe(0);
  });

  it('has one alarm, and none after the end', () => {
    const rig = new Rig();
    rig.change();
    rig.time.advance(10);
    rig.change();
    expect(rig.time.alarms.pending).toBe(1);
    rig.follower.stop();
    expect(rig.time.alarms.pending).toBe(0);
  });

  it('is read at once when asked; two reads never run together, and the last one wins', async () => {
    const rig = new Rig();
    rig.follower.ask();
    rig.follower.ask();
    rig.change();
    rig.time.advance(10_000);
    expect(rig.reads).toHaveLength(1);
    await rig.reads[0]?.give(text('second'));
    expect(rig.reads).toHaveLength(2);
    await rig.reads[1]?.give(text('third'));
    rig.time.advance(1);
    await rig.reads[2]?.give(text('fourth'));
    expect(rig.applied).toEqual(['second', 'third', 'fourth']);
    expect([rig.reads.length, rig.time.alarms.pending]).toEqual([3, 0]);
  });

  it('that cannot be read is told with the reason, and leaves what was in force', async () => {
    const rig = new Rig();
    rig.follower.ask();
    await rig.reads[0]?.fail('EACCES');
    expect(rig.told).toEqual([expect.stringMatching(/^warn: .* stays in force: sc\.json: no permission to read it$/)]);
    expect(rig.applied).toEqual([]);
  });

  it('is let go of at the end: a read under way and one that is due are forgotten, and who asks is told so', async () => {
    const rig = new Rig();
    rig.follower.ask();
    rig.change();
    rig.follower.stop();
    await rig.reads[0]?.give(text('second'));
    rig.change();
    rig.time.advance(10_000);
    expect([rig.reads.length, rig.watching, rig.time.alarms.pending]).toEqual([1, false, 0]);
    expect([rig.applied, rig.told]).toEqual([[], []]);
    rig.follower.ask();
    expect(rig.told).toEqual(['info: service config sc.json: not read again, the proxy is draining']);
    expect(rig.reads).toHaveLength(1);
  });

  it('ADM-25: tells who asked what came of it', async () => {
    const rig = new Rig();
    const results: unknown[] = [];
    const ask = (): void => void rig.follower.ask().then((result) => results.push(result));
    for (const given of [text('first'), text('second'), '{']) {
      ask();
      await rig.reads.at(-1)?.give(given);
    }
    ask();
    await rig.reads.at(-1)?.fail('EACCES');
    expect(results).toEqual([
      { outcome: 'unchanged', problem: null },
      { outcome: 'applied', problem: null },
      { outcome: 'rejected', problem: expect.stringMatching(/^sc\.json:1:2: error: .*\[json-syntax\]$/) },
      { outcome: 'rejected', problem: 'sc.json: no permission to read it' },
    ]);
  });

  it('ADM-25: who asks during a read hears of the next one, which may be the first to see the change', async () => {
    const rig = new Rig();
    const results: unknown[] = [];
    rig.change();
    rig.time.advance(50);
    void rig.follower.ask().then((result) => results.push(result));
    await rig.reads[0]?.give(text('first'));
    expect(results).toEqual([]);
    await rig.reads[1]?.give(text('second'));
    expect(results).toEqual([{ outcome: 'applied', problem: null }]);
  });

  it('ADM-27: who waits when it is let go of hears that nothing was read', async () => {
    const rig = new Rig();
    const asked = [rig.follower.ask(), rig.follower.ask()];
    rig.follower.stop();
    expect(await Promise.all([...asked, rig.follower.ask()])).toEqual([null, null, null]);
  });
});
