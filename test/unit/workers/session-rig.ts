import type { Found, Presence, SessionHold, SessionSettings, SessionStats } from '../../../src/balance/sessions.js';
import type { BackendId } from '../../../src/grpc/backend-id.js';
import { SessionBook } from '../../../src/workers/session-book.js';
import { SessionClient } from '../../../src/workers/session-client.js';
import type { SessionToPrimary, SessionToWorker } from '../../../src/workers/session-messages.js';
import { mergeSessionStats } from '../../../src/workers/session-stats.js';
import { createVirtualTime } from '../../support/virtual-time.js';
import { usual } from '../balance/session-rig.js';

/** One direction between two processes: each message takes its time, and none overtakes another. */
class Channel<Message> {
  readonly waiting: Message[] = [];
  private readonly group: SessionGroup;
  private readonly deliver: (message: Message) => void;
  private lastAt = 0;

  constructor(group: SessionGroup, deliver: (message: Message) => void) {
    this.group = group;
    this.deliver = deliver;
  }

  send(message: Message): void {
    const { time, delay } = this.group;
    this.waiting.push(structuredClone(message));
    this.lastAt = Math.max(this.lastAt, time.clock.now() + delay());
    time.alarms.set(this.lastAt, () => {
      const first = this.waiting.shift();
      if (first !== undefined) this.deliver(first);
    });
  }
}

export interface SessionWorker {
  readonly number: number;
  readonly client: SessionClient;
  /** All that it has sent. */
  readonly sent: SessionToPrimary[];
  readonly inbox: Channel<SessionToWorker>;
}

/** A book and its workers, with virtual time between them. */
export class SessionGroup {
  readonly time = createVirtualTime();
  readonly presence = new Map<string, Presence>();
  readonly workers = new Map<number, SessionWorker>();
  readonly book: SessionBook;
  /** How long the next message takes (ms). */
  readonly delay: () => number;
  /** Sees each message when the book hears it, and when it tells one. */
  onHeard: (worker: number, message: SessionToPrimary) => void = () => {};
  onTold: (worker: number | 'all', message: SessionToWorker) => void = () => {};
  private readonly settings: SessionSettings;
  private numbers = 0;

  constructor(settings: Partial<SessionSettings> = {}, workers = 2, delay: () => number = () => 1) {
    this.settings = { ...usual, ...settings };
    this.delay = delay;
    this.book = new SessionBook(this.settings, {
      tell: (worker, message) => {
        this.onTold(worker, message);
        this.workers.get(worker)?.inbox.send(message);
      },
      tellAll: (message) => {
        this.onTold('all', message);
        for (const { inbox } of this.workers.values()) inbox.send(message);
      },
    });
    for (let n = 0; n < workers; n += 1) this.addWorker();
  }

  get now(): number {
    return this.time.clock.now();
  }

  addWorker(): SessionWorker {
    this.numbers += 1;
    const number = this.numbers;
    const sent: SessionToPrimary[] = [];
    const toPrimary = new Channel<SessionToPrimary>(this, (message) => {
      if (!this.workers.has(number)) return;
      this.onHeard(number, message);
      this.book.hear(number, message, this.now);
    });
    const { clock, alarms } = this.time;
    const client = new SessionClient(this.settings, (backend) => this.presence.get(backend) ?? null, {
      clock,
      alarms,
      send: (message) => {
        sent.push(message);
        toPrimary.send(message);
      },
    });
    const inbox = new Channel<SessionToWorker>(this, (message) => client.receive(message));
    const worker = { number, client, sent, inbox };
    this.workers.set(number, worker);
    return worker;
  }

  /** Its process is gone, with all that it had not told. */
  kill({ number }: SessionWorker): void {
    this.workers.delete(number);
    this.book.leave(number, this.now);
  }

  /** Until all that was said has been heard, and all that there is to tell has been told. */
  settle(): void {
    this.time.advance(500);
  }

  /** What one process would tell. */
  stats(): SessionStats {
    const workers = [...this.workers.values()].map(({ client }) => client.sessions.stats(this.now));
    return mergeSessionStats(this.book.stats(this.now), workers);
  }

  worker(number: number): SessionWorker {
    const worker = this.workers.get(number);
    if (worker === undefined) throw new Error(`there is no worker ${number}`);
    return worker;
  }

  /** What a call on the worker comes to that would choose the candidate; its answer has come when this returns. */
  call(worker: number, key: string, candidate: BackendId | null): Found {
    const { client } = this.worker(worker);
    const here = client.sessions.find(key, this.now);
    if (here.kind !== 'none') return here;
    let answer: Found | null = null;
    client.ask(key, candidate, (found) => {
      answer = found;
    });
    this.time.advance(10);
    if (answer === null) throw new Error('the owner has not answered');
    return answer;
  }

  /** The same, of a call that is served and over at once. */
  serve(worker: number, key: string, candidate: BackendId): BackendId {
    const hold = heldBy(this.call(worker, key, candidate));
    hold.reached(this.now);
    hold.ended(this.now);
    return hold.backend;
  }
}

export function heldBy(found: Found): SessionHold {
  if (found.kind !== 'held') throw new Error(`the session is not held: ${found.kind}`);
  return found.hold;
}

/** How often the worker has asked. */
export function asks({ sent }: SessionWorker): number {
  return sent.filter(({ type }) => type === 'session_ask').length;
}
