import { Status, type StatusCode, statusName } from '../grpc/status.js';
import type { AlarmHandle, Alarms, Clock, Random } from '../runtime/ports.js';
import { ConnectPace } from './backoff.js';
import { ServingStatus } from './health-messages.js';

/** What a backend says of itself by grpc.health.v1.Health/Watch. */
export type HealthWord =
  | { readonly kind: 'serving' }
  /** Any other status (gRFC A17); `detail` names it. */
  | { readonly kind: 'not_serving'; readonly detail: string }
  /**
   * The Watch could not be made, was not answered in time, or ended. It says nothing of the backend: what was said before stands
   * until there is another word, and a backend that said nothing yet is as one that is not asked. Told once until it speaks.
   */
  | { readonly kind: 'unknown'; readonly detail: string }
  /** The backend has no health service: as one that is not asked, whatever was said before (gRFC A17). */
  | { readonly kind: 'off'; readonly detail: string };

/** What a stream of Watch tells. Never inside `OpenWatch`; after `onEnded` or `cancel` nothing more. */
export interface WatchEvents {
  /** A number of ServingStatus, or one that is not there yet. */
  onStatus(status: number): void;
  /** @param detail the status message, text from outside */
  onEnded(code: StatusCode, detail: string): void;
}

export interface WatchStream {
  cancel(): void;
}

/** Connects and calls Watch. Never throws. */
export type OpenWatch = (events: WatchEvents) => WatchStream;

export interface HealthWatchOptions {
  readonly open: OpenWatch;
  readonly clock: Clock;
  readonly alarms: Alarms;
  readonly random: Random;
  /** How long the first word of a stream may take, its connection included (ms). */
  readonly answerTimeout: number;
  /** The longest wait before another try (ms). */
  readonly backoffMax: number;
  /** Called when the word is another than the one before, never within a call from outside. */
  onWord(word: HealthWord): void;
}

/** Keeps one backend asked: one stream at a time, and another when that ends. */
export interface HealthWatch {
  /** The last word; null: none yet. */
  readonly word: HealthWord | null;
  start(): void;
  /**
   * The backend has been connected to anew, and may be another process: asks again at once, also one that had no health service.
   * What was said stands meanwhile.
   */
  renew(): void;
  /** Ends the stream; nothing more is told. */
  stop(): void;
}

const serving: HealthWord = { kind: 'serving' };

export function createHealthWatch(options: HealthWatchOptions): HealthWatch {
  return new Watch(options);
}

class Watch implements HealthWatch {
  word: HealthWord | null = null;
  private readonly options: HealthWatchOptions;
  private readonly pace: ConnectPace;
  private stream: WatchStream | null = null;
  /** When the open stream said its first word (clock ms); null: it has not. */
  private answeredAt: number | null = null;
  /** For the first word while a stream is open, else for the next one. */
  private alarm: AlarmHandle | null = null;
  private running = false;
  /** What the last word was about. */
  private told: string | null = null;

  constructor(options: HealthWatchOptions) {
    this.options = options;
    this.pace = new ConnectPace(options.backoffMax, () => options.random.next());
  }

  start(): void {
    if (this.running) return;
    this.running = true;
    this.open();
  }

  renew(): void {
    if (!this.running) return;
    this.leave();
    this.open();
  }

  stop(): void {
    this.running = false;
    this.leave();
  }

  private open(): void {
    const { open, answerTimeout } = this.options;
    const stream = open({
      onStatus: (status) => this.hear(status),
      onEnded: (code, detail) => this.end(code, detail),
    });
    this.stream = stream;
    this.answeredAt = null;
    this.arm(answerTimeout, () => {
      this.leave();
      this.retry(this.pace.connectFailed(), `the health service did not answer within ${answerTimeout} ms`);
    });
  }

  private hear(status: number): void {
    if (this.answeredAt === null) {
      this.disarm();
      this.answeredAt = this.options.clock.now();
      this.pace.connected();
    }
    this.say(status === ServingStatus.SERVING ? serving : { kind: 'not_serving', detail: statusWords(status) });
  }

  private end(code: StatusCode, message: string): void {
    const { answeredAt } = this;
    this.leave();
    const detail = message === '' ? statusName(code) : `${statusName(code)}: ${message}`;
    if (code === Status.UNIMPLEMENTED) {
      this.say({ kind: 'off', detail: `the backend has no health service that can be watched (${detail})` });
      return;
    }
    // One that answers and hangs up is not asked in a hot loop: only the first such end is made good at once.
    const { clock, backoffMax } = this.options;
    const wait =
      answeredAt === null ? this.pace.connectFailed() : this.pace.ended(clock.now() - answeredAt >= backoffMax);
    this.retry(wait, `the health Watch ended (${detail})`);
  }

  private retry(wait: number, detail: string): void {
    this.arm(wait, () => this.open());
    this.say({ kind: 'unknown', detail });
  }

  private say(word: HealthWord): void {
    // Not serving for another reason is news: the log tells why.
    const news = word.kind === 'not_serving' ? word.detail : word.kind;
    if (news === this.told) return;
    this.told = news;
    this.word = word;
    this.options.onWord(word);
  }

  private leave(): void {
    this.disarm();
    this.stream?.cancel();
    this.stream = null;
  }

  private arm(ms: number, ring: () => void): void {
    const { alarms, clock } = this.options;
    this.alarm = alarms.set(clock.now() + ms, () => {
      this.alarm = null;
      ring();
    });
  }

  private disarm(): void {
    if (this.alarm !== null) this.options.alarms.cancel(this.alarm);
    this.alarm = null;
  }
}

function statusWords(status: number): string {
  switch (status) {
    case ServingStatus.NOT_SERVING:
      return 'it says NOT_SERVING';
    case ServingStatus.SERVICE_UNKNOWN:
      return 'it says SERVICE_UNKNOWN: it does not know the service that is asked for';
    case ServingStatus.UNKNOWN:
      return 'it says UNKNOWN';
    default:
      return `it says ${status}, a status that is not known`;
  }
}
