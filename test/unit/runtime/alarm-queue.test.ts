import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AlarmQueue, createAlarmQueue } from '../../../src/runtime/alarm-queue.js';
import type { AlarmHandle } from '../../../src/runtime/ports.js';

/** Sets an alarm that writes its name down. */
function note(queue: AlarmQueue, log: string[], name: string, at: number): AlarmHandle {
  return queue.set(at, () => log.push(name));
}

describe('an alarm queue', () => {
  it('rings what is due, in order of time, and nothing early by a fraction of a millisecond', () => {
    const queue = createAlarmQueue();
    const log: string[] = [];
    note(queue, log, 'c', 10.5);
    note(queue, log, 'a', 9.25);
    note(queue, log, 'b', 10);
    queue.ringDue(10.4999);
    expect(log).toEqual(['a', 'b']);
    expect(queue.next).toBe(10.5);
    queue.ringDue(10.5);
    expect(log).toEqual(['a', 'b', 'c']);
    expect([queue.pending, queue.next]).toEqual([0, Number.POSITIVE_INFINITY]);
  });

  it('rings those of one instant in the order they were set', () => {
    const queue = createAlarmQueue();
    const log: string[] = [];
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) note(queue, log, name, 5);
    queue.ringDue(5);
    expect(log.join('')).toBe('abcdefg');
  });

  it('rings each alarm once', () => {
    const queue = createAlarmQueue();
    const log: string[] = [];
    note(queue, log, 'a', 1);
    queue.ringDue(1);
    queue.ringDue(2);
    expect(log).toEqual(['a']);
  });

  it('does not ring what was cancelled; cancelling again, or after the ring, does nothing', () => {
    const queue = createAlarmQueue();
    const log: string[] = [];
    const a = note(queue, log, 'a', 1);
    const b = note(queue, log, 'b', 2);
    note(queue, log, 'c', 3);
    queue.cancel(a);
    queue.cancel(a);
    expect(queue.pending).toBe(2);
    queue.ringDue(2);
    queue.cancel(b);
    expect(queue.pending).toBe(1);
    queue.ringDue(3);
    expect(log).toEqual(['b', 'c']);
  });

  it('an alarm cancelled inside another’s ring does not ring', () => {
    const queue = createAlarmQueue();
    const log: string[] = [];
    queue.set(1, () => {
      log.push('first');
      queue.cancel(second);
      queue.cancel(second);
      queue.cancel(later);
    });
    const second = note(queue, log, 'second', 1);
    const later = note(queue, log, 'later', 2);
    note(queue, log, 'third', 1);
    queue.ringDue(1);
    expect(queue.pending).toBe(0);
    queue.ringDue(5);
    expect(log).toEqual(['first', 'third']);
  });

  it('counts what is due and has not rung yet as pending', () => {
    const queue = createAlarmQueue();
    const pending: number[] = [];
    for (let i = 0; i < 3; i += 1) queue.set(1, () => pending.push(queue.pending));
    queue.set(2, () => {});
    queue.ringDue(1);
    expect(pending).toEqual([3, 2, 1]);
  });

  it('an alarm may cancel itself while it rings', () => {
    const queue = createAlarmQueue();
    const log: string[] = [];
    const self = queue.set(1, () => {
      queue.cancel(self);
      log.push('rang');
    });
    note(queue, log, 'other', 2);
    queue.ringDue(1);
    expect(queue.pending).toBe(1);
    queue.ringDue(2);
    expect(log).toEqual(['rang', 'other']);
  });

  it('what is set inside a ring waits for the next time, even if it is due', () => {
    const queue = createAlarmQueue();
    const log: string[] = [];
    queue.set(1, () => {
      note(queue, log, 'set meanwhile', 0);
      log.push('first');
    });
    note(queue, log, 'second', 1);
    queue.ringDue(1);
    expect(log).toEqual(['first', 'second']);
    expect(queue.next).toBe(0);
    queue.ringDue(1);
    expect(log).toEqual(['first', 'second', 'set meanwhile']);
  });

  it('an alarm that throws stops no other; the first error comes out', () => {
    const queue = createAlarmQueue();
    const log: string[] = [];
    queue.set(1, () => {
      throw new Error('one');
    });
    note(queue, log, 'a', 1);
    queue.set(1, () => {
      throw new Error('two');
    });
    note(queue, log, 'b', 1);
    let thrown: unknown;
    try {
      queue.ringDue(1);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toEqual(new Error('one'));
    expect(log).toEqual(['a', 'b']);
    expect(queue.pending).toBe(0);
  });

  it('deadlines beyond 2^31 ms are kept exactly', () => {
    const queue = createAlarmQueue();
    const log: string[] = [];
    const far = 315_576_000_000_000;
    note(queue, log, 'far', far);
    note(queue, log, 'int32', 2 ** 31);
    note(queue, log, 'never', Number.POSITIVE_INFINITY);
    queue.ringDue(2 ** 31 - 1);
    expect(log).toEqual([]);
    queue.ringDue(far - 1);
    expect(log).toEqual(['int32']);
    queue.ringDue(far);
    expect(log).toEqual(['int32', 'far']);
    expect(queue.pending).toBe(1);
  });

  it('a time that is not a number is a defect, and says so', () => {
    const queue = createAlarmQueue();
    expect(() => queue.set(Number.NaN, () => {})).toThrow('the time is not a number');
    expect(queue.pending).toBe(0);
  });

  it('any order of setting, cancelling and ringing: the same alarms at the same times as a sorted list', () => {
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ do: fc.constant('set' as const), after: fc.integer({ min: -3, max: 40 }) }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant('cancel' as const), which: fc.nat(200) }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.nat(15) }) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (script) => {
        const queue = createAlarmQueue();
        const rung: number[] = [];
        const handles: AlarmHandle[] = [];
        let model: { id: number; at: number }[] = [];
        const expected: number[] = [];
        let now = 0;
        for (const event of script) {
          if (event.do === 'set') {
            const id = handles.length;
            handles.push(queue.set(now + event.after, () => rung.push(id)));
            expect(handles[id]?.at).toBe(now + event.after);
            model.push({ id, at: now + event.after });
          } else if (event.do === 'cancel') {
            const id = event.which % Math.max(1, handles.length);
            const handle = handles[id];
            if (handle !== undefined) queue.cancel(handle);
            model = model.filter((each) => each.id !== id);
          } else {
            now += event.ms;
            const due = model.filter((each) => each.at <= now).sort((a, b) => a.at - b.at || a.id - b.id);
            expected.push(...due.map((each) => each.id));
            model = model.filter((each) => each.at > now);
            queue.ringDue(now);
          }
          expect(rung).toEqual(expected);
          expect(queue.pending).toBe(model.length);
          expect(queue.next).toBe(Math.min(Number.POSITIVE_INFINITY, ...model.map((each) => each.at)));
        }
      }),
      { numRuns: 300 },
    );
  });
});
