import { expect, test } from 'vitest';
import { type CallRing, createCallRing } from '../../../src/admin/call-ring.js';
import { createEventHub, type EventHub, type EventSink, mostStreams } from '../../../src/admin/event-hub.js';
import type { LiveSnapshot } from '../../../src/admin/live.js';
import type { Alarms } from '../../../src/runtime/ports.js';
import { live } from '../../support/live.js';
import { createVirtualTime, type VirtualTime } from '../../support/virtual-time.js';
import { failed } from './call-records.js';

/** A reader that takes all, unless told otherwise. */
class Reader implements EventSink {
  text = '';
  unsent = 0;
  taken = 0;
  ending: 'ended' | 'cut' | null = null;

  write(bytes: Buffer): void {
    this.text += bytes.toString();
  }
  end(): void {
    this.ending = 'ended';
  }
  cut(): void {
    this.ending = 'cut';
  }

  /** The events since the last look: `live`, or the calls' ids. */
  news(): string[] {
    const blocks = this.text.split('\n\n').slice(0, -1);
    this.text = '';
    return blocks.flatMap((block) => {
      const json = /^data: (.*)$/m.exec(block)?.[1];
      if (json === undefined) return [];
      const { calls } = JSON.parse(json) as { calls: unknown };
      return Array.isArray(calls) ? [(calls as { call: string }[]).map(({ call }) => call).join(',')] : ['live'];
    });
  }
}

interface Stage {
  readonly time: VirtualTime;
  readonly ring: CallRing;
  readonly hub: EventHub;
  readonly defects: unknown[];
  /** Snapshots made so far. */
  made: number;
  broken: boolean;
}

function start(): Stage {
  const time = createVirtualTime();
  const ring = createCallRing(100, (now) => now);
  const defects: unknown[] = [];
  const snapshot = (): LiveSnapshot => {
    if (stage.broken) throw new Error('planted');
    stage.made += 1;
    return live();
  };
  const hub = createEventHub(time, { instance: 'first', ring, snapshot }, (error) => defects.push(error));
  const stage: Stage = { time, ring, hub, defects, made: 0, broken: false };
  return stage;
}

function ended(ring: CallRing, id: string): void {
  ring.onCallEnded(failed({ id }));
}

test('a stream begins with how things are and the calls there were; then a snapshot comes each second', () => {
  const { time, ring, hub } = start();
  ended(ring, 'a');
  ended(ring, 'b');
  const reader = new Reader();
  hub.open(reader, undefined);
  expect(reader.text).toMatch(/^retry: 1000\n\n/);
  expect(reader.news()).toEqual(['live', 'b,a']);
  time.advance(999);
  expect(reader.news()).toEqual([]);
  time.advance(1);
  expect(reader.news()).toEqual(['live']);
  time.advance(10_000);
  expect(reader.news()).toHaveLength(10);
});

test('calls come within a fifth of a second, and in five batches a second at most', () => {
  const { time, ring, hub } = start();
  const reader = new Reader();
  hub.open(reader, undefined);
  reader.news();
  for (let at = 0; at < 100; at += 1) {
    ended(ring, String(at));
    time.advance(9);
  }
  expect(reader.news().filter((news) => news !== 'live')).toHaveLength(4);
});

test('a reader that comes back is told what it missed', () => {
  const { ring, hub } = start();
  for (const id of ['a', 'b', 'c']) ended(ring, id);
  const reader = new Reader();
  hub.open(reader, 'first:1');
  expect(reader.news()).toEqual(['live', 'c,b']);
});

test('what is told is made once for all streams, and nothing is made while there is none', () => {
  const stage = start();
  const { time, hub } = stage;
  const gone = Array.from({ length: 5 }, () => hub.open(new Reader(), undefined));
  const before = stage.made;
  time.advance(1000);
  expect(stage.made - before).toBe(1);
  expect(time.alarms.pending).toBe(1);
  for (const go of gone) go();
  expect(time.alarms.pending).toBe(0);
  time.advance(5000);
  expect(stage.made - before).toBe(1);
  const reader = new Reader();
  hub.open(reader, undefined);
  reader.news();
  time.advance(1000);
  expect(reader.news()).toEqual(['live']);
});

test('a reader that does not keep up is passed over, and the others are not', () => {
  const { time, ring, hub } = start();
  const [slow, quick] = [new Reader(), new Reader()];
  for (const reader of [slow, quick]) {
    hub.open(reader, undefined);
    reader.news();
  }
  slow.unsent = 2 * 1024 * 1024;
  ended(ring, 'a');
  time.advance(3000);
  expect(slow.news()).toEqual([]);
  expect(quick.news()).toEqual(['a', 'live', 'live', 'live']);
  slow.unsent = 0;
  time.advance(200);
  expect(slow.news()).toEqual(['a']);
});

test('a reader that takes nothing for 15 s is cut off, and makes room', () => {
  const { time, hub } = start();
  const readers = Array.from({ length: mostStreams }, () => new Reader());
  for (const reader of readers) {
    expect(hub.full).toBe(false);
    hub.open(reader, undefined);
  }
  expect(hub.full).toBe(true);
  const [stuck] = readers;
  if (stuck !== undefined) stuck.unsent = 1;
  time.advance(14_900);
  expect(stuck?.ending).toBe(null);
  time.advance(200);
  expect(readers.map(({ ending }) => ending).filter((ending) => ending !== null)).toEqual(['cut']);
  expect(hub.full).toBe(false);
});

test('the end ends all streams and every alarm; one that comes later ends at once', () => {
  const { time, hub } = start();
  const reader = new Reader();
  hub.open(reader, undefined);
  hub.stop();
  expect(reader.ending).toBe('ended');
  expect(time.alarms.pending).toBe(0);
  const late = new Reader();
  hub.open(late, undefined)();
  expect([late.ending, late.text]).toEqual(['ended', '']);
});

test('a fault of ours ends the streams, not the process', () => {
  const stage = start();
  const reader = new Reader();
  stage.hub.open(reader, undefined);
  stage.broken = true;
  stage.time.advance(1000);
  expect(reader.ending).toBe('cut');
  expect(stage.defects).toEqual([new Error('planted')]);
  expect(() => stage.hub.open(new Reader(), undefined)).toThrow('planted');
  stage.broken = false;
  expect(stage.time.alarms.pending).toBe(0);
  const next = new Reader();
  stage.hub.open(next, undefined);
  expect(next.news()).toEqual(['live', '']);
});

test('a program that stood still makes up for no snapshots', () => {
  let now = 0;
  let wake = (): void => {};
  const alarms: Alarms = {
    set(at, ring) {
      wake = ring;
      return { at };
    },
    cancel() {},
    pending: 0,
  };
  const source = { instance: 'first', ring: createCallRing(1, (at) => at), snapshot: () => live() };
  const hub = createEventHub({ clock: { now: () => now }, alarms }, source, () => {});
  const reader = new Reader();
  hub.open(reader, undefined);
  reader.news();
  for (now of [10_000, 10_200, 10_900]) wake();
  expect(reader.news()).toEqual(['live']);
  now = 11_000;
  wake();
  expect(reader.news()).toEqual(['live']);
});
