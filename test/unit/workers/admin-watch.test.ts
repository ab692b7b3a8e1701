import { describe, expect, it } from 'vitest';
import type { EventSink } from '../../../src/admin/event-hub.js';
import { liveEvery, streamEvery } from '../../../src/admin/event-stream.js';
import type { LiveSnapshot, RecentCall } from '../../../src/admin/live.js';
import type { CallRecord } from '../../../src/proxy/observer.js';
import { SharedLook } from '../../../src/workers/admin-look.js';
import { World } from '../admin/backends.js';
import { failed, record } from '../admin/call-records.js';
import { FakeGroup, type Stage, settle, start } from './admin-rig.js';

/** A call that failed and ended so many milliseconds after the start of all. */
function end(world: World | undefined, id: string, endedAt: number, rest: Partial<CallRecord> = {}): void {
  world?.ring.onCallEnded(failed({ id, startedAt: 1000, endedAt: 1000 + endedAt, ...rest }));
}

async function calls({ get }: Pick<Stage, 'get'>, query = ''): Promise<readonly RecentCall[]> {
  const { status, body } = await get(`/calls${query}`);
  expect(status).toBe(200);
  return (body as { readonly calls: readonly RecentCall[] }).calls;
}

async function ids(stage: Pick<Stage, 'get'>, query = ''): Promise<string[]> {
  return (await calls(stage, query)).map(({ call }) => call);
}

function two(): { stage: Stage; first: World; second: World } {
  const first = new World();
  const second = new World();
  return { stage: start(new FakeGroup(first, second)), first, second };
}

describe('/calls', () => {
  it('WRK-14: has the calls of all workers, in the order in which they ended, and each once', async () => {
    const { stage, first, second } = two();
    // One that ends later may have begun sooner.
    end(first, 'b', 20, { startedAt: 900 });
    end(first, 'd', 40);
    end(second, 'a', 10);
    end(second, 'c', 30);
    expect(await ids(stage)).toEqual(['d', 'c', 'b', 'a']);
    expect((await calls(stage)).map(({ seq }) => seq)).toEqual([4, 3, 2, 1]);
    end(second, 'e', 50);
    expect(await ids(stage)).toEqual(['e', 'd', 'c', 'b', 'a']);
    expect(await ids(stage, '?since=3')).toEqual(['e', 'd']);
    expect(await ids(stage, '?limit=1&call=a')).toEqual(['a']);
  });

  it('WRK-14: a call is told as its worker tells it', async () => {
    const { stage, first, second } = two();
    end(first, 'a', 10);
    end(second, 'b', 20);
    const [told] = [...second.ring.since(0)];
    expect((await calls(stage))[0]).toEqual({ ...structuredClone(told), seq: 2 });
  });

  it('WRK-14: a query that is wrong is 400', async () => {
    expect((await two().stage.get('/calls?code=TEAPOT')).status).toBe(400);
  });

  it('WRK-14: one that takes the place of another begins anew, and nothing is told twice', async () => {
    const { stage, first } = two();
    end(first, 'a', 10);
    end(first, 'b', 20);
    expect(await ids(stage)).toEqual(['b', 'a']);
    stage.kill(1);
    const third = new World();
    stage.group.workers.set(3, third);
    end(third, 'c', 30);
    expect(await ids(stage)).toEqual(['c', 'b', 'a']);
    expect(await ids(stage)).toEqual(['c', 'b', 'a']);
  });

  it('WRK-14, WRK-15: one that was silent tells its calls when it answers again', async () => {
    const { stage, first, second } = two();
    end(first, 'a', 10);
    stage.group.silent.add(1);
    end(second, 'b', 20);
    expect(await ids(stage)).toEqual(['b']);
    stage.group.silent.clear();
    expect(await ids(stage)).toEqual(['a', 'b']);
  });

  it('WRK-14: calls that were answered at once have their part of the room, and no more', async () => {
    const worlds = [new World(), new World()];
    const stage = start(new FakeGroup(...worlds), { recentCalls: 10 });
    for (let at = 0; at < 12; at += 1) {
      end(worlds[at % 2], `n${at}`, at);
      worlds[at % 2]?.ring.onCallEnded(record({ id: `p${at}`, endedAt: 1100 + at }));
    }
    expect(await ids(stage)).toEqual(['p11', 'p10', 'n11', 'n10', 'n9', 'n8', 'n7', 'n6', 'n5', 'n4']);
  });

  it('WRK-14: none is kept where none is to be', async () => {
    const world = new World();
    end(world, 'a', 10);
    world.ring.onCallEnded(record());
    expect(await ids(start(new FakeGroup(world), { recentCalls: 0 }))).toEqual([]);
  });
});

/** A reader that takes all. */
class Reader implements EventSink {
  text = '';
  readonly unsent = 0;
  readonly taken = 0;
  cuts = 0;
  write(bytes: Buffer): void {
    this.text += bytes.toString();
  }
  end(): void {}
  cut(): void {
    this.cuts += 1;
  }

  /** The calls and snapshots since the last look. */
  news(): (string | LiveSnapshot)[] {
    const blocks = this.text.split('\n\n').slice(0, -1);
    this.text = '';
    return blocks.flatMap((block): (string | LiveSnapshot)[] => {
      const json = /^data: (.*)$/m.exec(block)?.[1];
      if (json === undefined) return [];
      const data = JSON.parse(json) as LiveSnapshot | { readonly calls: readonly RecentCall[] };
      return Array.isArray(data.calls)
        ? [(data.calls as readonly RecentCall[]).map(({ call }) => call).join(',')]
        : [data as LiveSnapshot];
    });
  }
}

async function open(stage: Stage): Promise<{ reader: Reader; close: () => void }> {
  const reader = new Reader();
  const { status, stream } = await stage.get('/events');
  expect(status).toBe(200);
  const onGone = stream?.(reader);
  return { reader, close: () => onGone?.() };
}

/** Lets time pass from look to look, with what workers answer in between. */
async function pass(stage: Stage, ms: number): Promise<void> {
  for (let gone = 0; gone < ms; gone += streamEvery) {
    stage.time.advance(streamEvery);
    await settle();
  }
}

describe('/events', () => {
  it('WRK-14: begins with how all workers are and what calls they had', async () => {
    const { stage, first, second } = two();
    end(first, 'a', 10);
    end(second, 'b', 20);
    const { reader } = await open(stage);
    expect(reader.text).toContain('id: run:2\n');
    expect(reader.news()).toMatchObject([{ instance: 'run', in_flight: 4 }, 'b,a']);
  });

  it('WRK-14: tells what comes later, in all workers, of each call once', async () => {
    const { stage, first, second } = two();
    const { reader } = await open(stage);
    reader.news();
    end(second, 'a', 10);
    end(first, 'b', 20);
    await pass(stage, 2 * streamEvery);
    expect(reader.news()).toEqual(['b,a']);
    end(first, 'c', 30);
    await pass(stage, 2 * streamEvery);
    expect(reader.news()).toEqual(['c']);
  });

  it('WRK-11: tells each second how all are, as they were a short while before', async () => {
    const { stage, first } = two();
    const { reader } = await open(stage);
    reader.news();
    for (const inFlight of [7, 9, 11]) {
      Object.assign(first.backends[0] ?? {}, { inFlight });
      await pass(stage, liveEvery);
      expect(reader.news()).toMatchObject([{ backends: [{ in_flight: inFlight + 2 }] }]);
    }
    // Asked no more often than it is told.
    expect(stage.asked('live')).toBe(4);
  });

  it('WRK-14: nobody is asked while nobody reads', async () => {
    const { stage } = two();
    const one = await open(stage);
    const other = await open(stage);
    one.close();
    await pass(stage, streamEvery);
    const before = stage.group.asked.length;
    await pass(stage, streamEvery);
    expect(stage.group.asked.length).toBe(before + 1);
    other.close();
    expect(stage.time.alarms.pending).toBe(0);
    await open(stage);
    expect(stage.time.alarms.pending).toBe(2);
    stage.admin.hub.stop();
    expect(stage.time.alarms.pending).toBe(0);
  });

  it('WRK-14: there is no room for more than 16', async () => {
    const { stage } = two();
    for (let at = 0; at < 16; at += 1) await open(stage);
    const before = stage.group.asked.length;
    expect(await stage.get('/events')).toMatchObject({ status: 503, headers: { 'retry-after': '5' } });
    expect(stage.group.asked.length).toBe(before);
  });

  it('WRK-15: goes on over workers that do not answer, with what they had counted', async () => {
    const { stage, first, second } = two();
    const bucket = { tokens: 9, max_tokens: 10, threshold: 5, token_ratio: 0.1, shut: false, suppressed: 2 };
    first.bucket = bucket;
    second.bucket = bucket;
    const { reader } = await open(stage);
    reader.news();
    stage.group.silent.add(1);
    await pass(stage, liveEvery);
    expect(reader.news()).toMatchObject([{ in_flight: 2, throttle: { tokens: 9, suppressed: 4 } }]);
    stage.group.silent.add(2);
    await pass(stage, liveEvery);
    expect(reader.news()).toMatchObject([{ in_flight: 0, ready: false, throttle: null, backends: [] }]);
    stage.group.silent.clear();
    await pass(stage, liveEvery);
    expect(reader.news()).toMatchObject([{ in_flight: 4, ready: true, throttle: { tokens: 18, suppressed: 4 } }]);
  });

  it('WRK-15: a look that takes long is waited for, and no other is begun', async () => {
    const { stage, first } = two();
    const { reader } = await open(stage);
    reader.news();
    const { ask } = stage.group;
    let go = (): void => {};
    const late = new Promise<void>((resolve) => {
      go = resolve;
    });
    let asked = 0;
    stage.group.ask = async (question) => {
      asked += 1;
      await late;
      return ask.call(stage.group, question);
    };
    await pass(stage, 3 * liveEvery);
    expect(asked).toBe(2);
    end(first, 'a', 10);
    go();
    await settle();
    await pass(stage, streamEvery);
    expect(reader.news()).toContain('a');
  });

  it('WRK-14: a fault of ours ends the streams, once', async () => {
    const { stage } = two();
    const { reader, close } = await open(stage);
    stage.group.ask = () => Promise.reject(new Error('planted'));
    await pass(stage, liveEvery);
    expect(reader.cuts).toBe(1);
    expect(stage.defects).toHaveLength(1);
    close();
    expect(stage.time.alarms.pending).toBe(0);
  });
});

describe('a look that several share', () => {
  /** Looks that end when they are told to, and how many have begun. */
  function looks() {
    const ends: ((error?: Error) => void)[] = [];
    const shared = new SharedLook(
      () =>
        new Promise<number>((resolve, reject) => {
          const n = ends.length + 1;
          ends.push((error) => (error === undefined ? resolve(n) : reject(error)));
        }),
    );
    return { shared, ends };
  }

  it('WRK-14: who asks while one is under way gets the next, together with others', async () => {
    const { shared, ends } = looks();
    const first = shared.look();
    const rest = [shared.look(), shared.look()];
    expect(ends).toHaveLength(1);
    expect(shared.underWay).toBe(true);
    ends[0]?.();
    expect(await first).toBe(1);
    await settle();
    expect(ends).toHaveLength(2);
    ends[1]?.();
    expect(await Promise.all(rest)).toEqual([2, 2]);
    expect(shared.underWay).toBe(false);
    void shared.look();
    expect(ends).toHaveLength(3);
  });

  it('WRK-14: one that fails is no matter of the next', async () => {
    const { shared, ends } = looks();
    const first = shared.look();
    const second = shared.look();
    ends[0]?.(new Error('planted'));
    await expect(first).rejects.toThrow('planted');
    await settle();
    ends[1]?.();
    expect(await second).toBe(2);
  });
});
