import { expect, test } from 'vitest';
import type { CallObserver, CallRecord } from '../../../src/proxy/observer.js';
import { observeAll } from '../../../src/proxy/observers.js';
import { record } from '../admin/call-records.js';

class Taker implements CallObserver {
  readonly taken: CallRecord[] = [];
  readonly wants: CallObserver['wants'];

  constructor(wants: CallObserver['wants']) {
    this.wants = wants;
  }

  onCallEnded(one: CallRecord): void {
    this.taken.push(one);
  }
}

test('a record is made when one of them wants it, and only those get it that do', () => {
  const failures = new Taker((code) => code !== 0);
  const late = new Taker((_code, _attempts, now) => now > 50);
  const all = observeAll([failures, late]);
  expect(all.wants(0, 1, 0)).toBe(false);
  expect(all.wants(14, 1, 0)).toBe(true);
  expect(all.wants(0, 1, 60)).toBe(true);
  const early = record({ code: 14, endedAt: 10 });
  const plain = record({ code: 0, endedAt: 60 });
  all.onCallEnded(early);
  all.onCallEnded(plain);
  expect(failures.taken).toEqual([early]);
  expect(late.taken).toEqual([plain]);
});

test('one alone stays itself; none wants nothing', () => {
  const only = new Taker(() => true);
  expect(observeAll([only])).toBe(only);
  expect(observeAll([]).wants(14, 2, 0)).toBe(false);
});
