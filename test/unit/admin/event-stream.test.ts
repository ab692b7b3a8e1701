import { describe, expect, test } from 'vitest';
import {
  callsEvent,
  greet,
  liveEvent,
  openStream,
  type StreamSight,
  type StreamState,
  stepStream,
} from '../../../src/admin/event-stream.js';
import { describeRecent } from '../../../src/admin/recent-call.js';
import { failed } from './call-records.js';

describe('where a stream begins', () => {
  test.each<[string, string | undefined, number]>([
    ['a new reader', undefined, 0],
    ['one that knows the calls up to 7', 'abc123:7', 7],
    ['one that knows them all', 'abc123:9', 9],
    ['one of another run of the program', 'xyz789:7', 0],
    ['one that knows calls that there were none of', 'abc123:10', 0],
    ['an id that is none of ours', '7', 0],
    ['an id that is none of ours', 'abc123:7:8', 0],
    ['an id that is none of ours', `abc123:${'7'.repeat(400)}`, 0],
  ])('%s', (_who, lastEventId, since) => {
    const state = openStream(lastEventId, 'abc123', 9, 5000);
    expect(greet(state)).toEqual([{ type: 'live' }, { type: 'calls', since }]);
  });
});

describe('what is sent when', () => {
  const fresh: StreamState = { told: 5, taken: 100, takenAt: 1000 };
  const idle: StreamSight = { now: 1200, newest: 5, live: false, unsent: 0, taken: 100 };

  test('nothing where nothing is due', () => {
    expect(stepStream(fresh, idle)).toEqual({ state: { ...fresh, takenAt: 1200 }, decisions: [] });
  });

  test('a snapshot when one is due, and calls as soon as there are any', () => {
    expect(stepStream(fresh, { ...idle, live: true }).decisions).toEqual([{ type: 'live' }]);
    const { state, decisions } = stepStream(fresh, { ...idle, newest: 8 });
    expect(decisions).toEqual([{ type: 'calls', since: 5 }]);
    expect(stepStream(state, { ...idle, newest: 8 }).decisions).toEqual([]);
    expect(stepStream(fresh, { ...idle, newest: 8, live: true }).decisions).toHaveLength(2);
  });

  test('a reader with more than 1 MiB unsent gets nothing new; the calls come when it has read', () => {
    const due = { ...idle, live: true, newest: 8 };
    const slow = stepStream(fresh, { ...due, unsent: 1024 * 1024 + 1, taken: 200 });
    expect(slow.decisions).toEqual([]);
    const later = stepStream(slow.state, { ...due, now: 1400, unsent: 1024 * 1024, taken: 300 });
    expect(later.decisions).toEqual([{ type: 'live' }, { type: 'calls', since: 5 }]);
  });

  test('a reader that takes nothing for 15 s is sent away', () => {
    const stuck = { ...idle, unsent: 10 };
    expect(stepStream(fresh, { ...stuck, now: 15_999 }).decisions).toEqual([]);
    expect(stepStream(fresh, { ...stuck, now: 16_000 }).decisions).toEqual([{ type: 'end' }]);
  });

  test('one that takes a little, or for which nothing waits, is not', () => {
    const slow = stepStream(fresh, { ...idle, now: 15_000, unsent: 10, taken: 101 });
    expect(stepStream(slow.state, { ...idle, now: 29_000, unsent: 10, taken: 101 }).decisions).toEqual([]);
    expect(stepStream(fresh, { ...idle, now: 99_000 }).decisions).toEqual([]);
  });
});

describe('how it is written', () => {
  const call = describeRecent(failed({ message: 'a\n\nb' }), 3, 0);

  test('an event is a line of JSON, whatever is in it', () => {
    expect(liveEvent({ a: 'x\ny' })).toBe('event: live\ndata: {"a":"x\\ny"}\n\n');
    const text = callsEvent([call], 'abc123', 3);
    expect(text).toMatch(/^id: abc123:3\nevent: calls\ndata: [^\n]*\n\n$/);
    expect(JSON.parse(text.split('\ndata: ')[1] ?? '')).toEqual(JSON.parse(JSON.stringify({ calls: [call] })));
  });

  test('no calls are an event too: who had others forgets them', () => {
    expect(callsEvent([], 'abc123', 0)).toBe('id: abc123:0\nevent: calls\ndata: {"calls":[]}\n\n');
  });

  test('one event has 1 MiB of calls at most, the newest, and one at least', () => {
    const many = Array.from({ length: 10_000 }, (_, at) => ({ ...call, seq: 10_000 - at }));
    const text = callsEvent(many, 'abc123', 10_000);
    expect(text.length).toBeLessThan(1024 * 1024 + 100);
    expect(text.length).toBeGreaterThan(1000 * 1000);
    expect(text).toContain('"seq":10000,');
    expect(callsEvent([{ ...call, why: 'x'.repeat(2_000_000) }], 'abc123', 1)).toContain('"seq":3');
  });
});
