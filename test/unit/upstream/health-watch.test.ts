import { describe, expect, it } from 'vitest';
import { Status } from '../../../src/grpc/status.js';
import { ServingStatus } from '../../../src/upstream/health-messages.js';
import { createHealthWatch, type HealthWatch, type WatchEvents } from '../../../src/upstream/health-watch.js';
import { createVirtualTime, type VirtualTime } from '../../support/virtual-time.js';

/** The streams of one watch, which a test answers and ends by hand. */
class Rig {
  readonly time: VirtualTime = createVirtualTime();
  /** In the order in which they were opened. */
  readonly streams: { readonly events: WatchEvents; cancelled: boolean }[] = [];
  readonly words: string[] = [];
  readonly watch: HealthWatch;

  constructor(onWord: (rig: Rig) => void = () => {}) {
    this.watch = createHealthWatch({
      open: (events) => {
        const stream = { events, cancelled: false };
        this.streams.push(stream);
        return {
          cancel() {
            stream.cancelled = true;
          },
        };
      },
      clock: this.time.clock,
      alarms: this.time.alarms,
      // No jitter.
      random: { next: () => 0.5 },
      answerTimeout: 2000,
      backoffMax: 5000,
      onWord: (word) => {
        this.words.push('detail' in word ? `${word.kind}: ${word.detail}` : word.kind);
        onWord(this);
      },
    });
  }

  static started(): Rig {
    const rig = new Rig();
    rig.watch.start();
    return rig;
  }

  get last(): WatchEvents {
    const stream = this.streams.at(-1);
    if (stream === undefined) throw new Error('no stream was opened');
    return stream.events;
  }

  /** Lets time pass until another stream is opened, and says how much (ms). */
  untilNext(): number {
    const before = this.streams.length;
    for (let ms = 0; ms <= 100_000; ms += 1) {
      if (this.streams.length > before) return ms;
      this.time.advance(1);
    }
    throw new Error('no further stream is opened');
  }
}

const ended = 'the health Watch ended';

describe('a watched backend', () => {
  it('is told of by each word that is another one', () => {
    const rig = Rig.started();
    expect([rig.watch.word, rig.streams.length]).toEqual([null, 1]);
    const { SERVING, NOT_SERVING, SERVICE_UNKNOWN, UNKNOWN } = ServingStatus;
    for (const status of [SERVING, SERVING, NOT_SERVING, NOT_SERVING, SERVICE_UNKNOWN, UNKNOWN, 7, SERVING]) {
      rig.last.onStatus(status);
    }
    expect(rig.words).toEqual([
      'serving',
      'not_serving: it says NOT_SERVING',
      'not_serving: it says SERVICE_UNKNOWN: it does not know the service that is asked for',
      'not_serving: it says UNKNOWN',
      'not_serving: it says 7, a status that is not known',
      'serving',
    ]);
    expect(rig.watch.word).toEqual({ kind: 'serving' });
  });

  it('may be silent for ever once it has spoken', () => {
    const rig = Rig.started();
    rig.last.onStatus(ServingStatus.SERVING);
    rig.time.advance(10_000_000);
    expect([rig.streams.length, rig.words, rig.time.alarms.pending]).toEqual([1, ['serving'], 0]);
  });

  it('that has no health service is asked no more, and that is told once', () => {
    const rig = Rig.started();
    rig.last.onEnded(Status.UNIMPLEMENTED, 'no such method');
    rig.time.advance(10_000_000);
    expect([rig.streams.length, rig.time.alarms.pending]).toEqual([1, 0]);
    expect(rig.words).toEqual([
      'off: the backend has no health service that can be watched (UNIMPLEMENTED: no such method)',
    ]);
    // Another process may have one.
    rig.watch.renew();
    rig.last.onEnded(Status.UNIMPLEMENTED, '');
    rig.watch.renew();
    rig.last.onStatus(ServingStatus.SERVING);
    expect([rig.streams.length, rig.words.slice(1)]).toEqual([3, ['serving']]);
  });
});

describe('a Watch that ends', () => {
  it('without an answer is made again after waits that grow, and is told of once', () => {
    const rig = Rig.started();
    const waits = Array.from({ length: 9 }, () => {
      rig.last.onEnded(Status.UNAVAILABLE, 'refused');
      return rig.untilNext();
    });
    expect(waits).toEqual([250, 400, 640, 1024, 1639, 2622, 4167, 4167, 4167]);
    expect(rig.words).toEqual([`unknown: ${ended} (UNAVAILABLE: refused)`]);
  });

  it('after an answer is made again at once, then after waits where it ends as soon again', () => {
    const rig = Rig.started();
    const waits = Array.from({ length: 4 }, () => {
      rig.last.onStatus(ServingStatus.SERVING);
      rig.last.onEnded(Status.OK, '');
      return rig.untilNext();
    });
    // An alarm that is due at once rings on the next tick.
    expect(waits).toEqual([1, 250, 400, 640]);
    expect(rig.words.slice(0, 3)).toEqual(['serving', `unknown: ${ended} (OK)`, 'serving']);
  });

  it('after it was of use for as long as the longest wait is made again at once each time', () => {
    const rig = Rig.started();
    const waits = Array.from({ length: 4 }, () => {
      rig.last.onStatus(ServingStatus.SERVING);
      rig.time.advance(4000);
      rig.last.onStatus(ServingStatus.NOT_SERVING);
      rig.time.advance(1000);
      rig.last.onEnded(Status.UNAVAILABLE, '');
      return rig.untilNext();
    });
    expect(waits).toEqual([1, 1, 1, 1]);
  });

  it('lets waits begin anew after an answer', () => {
    const rig = Rig.started();
    for (let i = 0; i < 5; i += 1) {
      rig.last.onEnded(Status.UNAVAILABLE, '');
      rig.untilNext();
    }
    rig.last.onStatus(ServingStatus.SERVING);
    rig.time.advance(5000);
    rig.last.onEnded(Status.UNAVAILABLE, '');
    rig.untilNext();
    rig.last.onEnded(Status.UNAVAILABLE, '');
    expect(rig.untilNext()).toBe(250);
  });

  it('because it is not answered is cancelled in time and made again', () => {
    const rig = Rig.started();
    rig.time.advance(1999);
    expect([rig.streams[0]?.cancelled, rig.words]).toEqual([false, []]);
    rig.time.advance(1);
    expect([rig.streams[0]?.cancelled, rig.words]).toEqual([
      true,
      ['unknown: the health service did not answer within 2000 ms'],
    ]);
    expect(rig.untilNext()).toBe(250);
  });

  it('with a refusal of ours is an end like others', () => {
    const rig = Rig.started();
    rig.last.onEnded(Status.PERMISSION_DENIED, '');
    expect(rig.words).toEqual([`unknown: ${ended} (PERMISSION_DENIED)`]);
    expect(rig.untilNext()).toBe(250);
  });
});

describe('asking anew', () => {
  it('is done at once, in place of the stream that was open or of the wait', () => {
    const rig = Rig.started();
    rig.last.onStatus(ServingStatus.NOT_SERVING);
    rig.watch.renew();
    expect(rig.streams.map(({ cancelled }) => cancelled)).toEqual([true, false]);
    // What was said stands until there is another word.
    expect(rig.words.length).toBe(1);
    rig.last.onEnded(Status.UNAVAILABLE, '');
    rig.watch.renew();
    expect([rig.streams.length, rig.time.alarms.pending]).toEqual([3, 1]);
    rig.last.onStatus(ServingStatus.SERVING);
    expect(rig.watch.word).toEqual({ kind: 'serving' });
  });

  it('does nothing before the start and after the stop; a second start does nothing', () => {
    const rig = new Rig();
    rig.watch.renew();
    expect(rig.streams.length).toBe(0);
    rig.watch.start();
    rig.watch.start();
    expect(rig.streams.length).toBe(1);
    rig.watch.stop();
    rig.watch.renew();
    expect(rig.streams.length).toBe(1);
  });
});

describe('stopping', () => {
  it('cancels the open stream and every alarm, in any state', () => {
    const waitingForAnswer = Rig.started();
    const answered = Rig.started();
    answered.last.onStatus(ServingStatus.SERVING);
    const waitingForNext = Rig.started();
    waitingForNext.last.onEnded(Status.UNAVAILABLE, '');
    for (const rig of [waitingForAnswer, answered, waitingForNext]) {
      rig.watch.stop();
      rig.watch.stop();
      const opened = rig.streams.length;
      rig.time.advance(100_000);
      expect([rig.time.alarms.pending, rig.streams.length - opened]).toEqual([0, 0]);
    }
    expect(waitingForAnswer.streams[0]?.cancelled).toBe(true);
    expect(answered.streams[0]?.cancelled).toBe(true);
  });

  it('may be asked for by who hears a word', () => {
    const rig = new Rig(({ watch }) => watch.stop());
    rig.watch.start();
    rig.last.onEnded(Status.UNAVAILABLE, '');
    rig.time.advance(100_000);
    expect([rig.streams.length, rig.time.alarms.pending]).toEqual([1, 0]);
  });
});
