import type { SessionFacts } from '../balance/session-hold.js';
import {
  createSharedSessions,
  type Found,
  type Presence,
  type SessionOwner,
  type SessionSettings,
  type Sessions,
  type SharedSessions,
} from '../balance/sessions.js';
import type { BackendId } from '../grpc/backend-id.js';
import type { AlarmHandle, Alarms, Clock } from '../runtime/ports.js';
import type { OwnerAnswer, SessionToPrimary, SessionToWorker } from './session-messages.js';
import { SessionNews } from './session-news.js';

/** How long news of sessions waits for more (ms). */
const newsInterval = 100;

/** How a worker reaches the rest. */
export interface SessionClientPorts {
  readonly clock: Clock;
  readonly alarms: Alarms;
  /** To the primary, which hears in this order. */
  readonly send: (message: SessionToPrimary) => void;
}

interface Asked {
  readonly key: string;
  /** Null: whoever asked has given up. */
  done: ((found: Found) => void) | null;
}

/** A worker's sessions (D31): copies of the primary's, and what is said about them. */
export class SessionClient implements SessionOwner {
  private readonly copies: SharedSessions;
  private readonly ports: SessionClientPorts;
  private readonly asked = new Map<number, Asked>();
  private lastAsk = 0;
  private readonly news = new SessionNews();
  private alarm: AlarmHandle | null = null;

  /** @param presence of the worker's own backends: the primary has no connections to judge by (D15) */
  constructor(
    settings: SessionSettings,
    presence: (backend: BackendId, now: number) => Presence,
    ports: SessionClientPorts,
  ) {
    this.ports = ports;
    this.copies = createSharedSessions(settings, presence, 'copies', {
      onBusy: (session) => this.note(session, true),
      onIdle: (session) => this.note(session, false),
      onDropped: (session, outcome) => {
        const { key, claim } = session;
        if (outcome === 'lost' || outcome === 'released') {
          this.news.forget(key);
          this.ports.send({ type: outcome === 'lost' ? 'session_lost' : 'session_released', key, claim });
        } else if (session.calls > 0) {
          // Too old: its calls go on and are of no session, so that nobody will tell of their end.
          this.note(session, false);
        }
      },
    });
  }

  /** For calls to find theirs in; a new one is asked for. */
  get sessions(): Sessions {
    return this.copies;
  }

  /** Questions without an answer, for the leak ledger. */
  get asking(): number {
    return this.asked.size;
  }

  ask(key: string, candidate: BackendId | null, done: (found: Found) => void): () => void {
    this.lastAsk += 1;
    const ask = this.lastAsk;
    const asked: Asked = { key, done };
    this.asked.set(ask, asked);
    this.ports.send({ type: 'session_ask', ask, key, candidate });
    return () => {
      asked.done = null;
    };
  }

  /** The primary has said something. */
  receive(message: SessionToWorker): void {
    switch (message.type) {
      case 'session_answer': {
        const asked = this.asked.get(message.ask);
        if (asked === undefined) return;
        this.asked.delete(message.ask);
        if (asked.done === null) this.giveBack(asked.key, message.answer);
        else asked.done(this.foundBy(asked.key, message.answer));
        return;
      }
      case 'session_gone':
        this.drop(message);
        return;
      default:
        message satisfies never;
    }
  }

  /** Tells what there is to tell, and sets no alarm more until there is something new. */
  flush(): void {
    const { alarms, clock, send } = this.ports;
    if (this.alarm !== null) alarms.cancel(this.alarm);
    this.alarm = null;
    if (this.news.isEmpty) return;
    const asking = new Set([...this.asked.values()].map(({ key }) => key));
    send({ type: 'session_news', entries: this.news.take(clock.now(), asking) });
  }

  private foundBy(key: string, answer: OwnerAnswer): Found {
    return answer.kind === 'kept' ? this.copies.adopt(key, answer, this.ports.clock.now()) : answer;
  }

  /** Nobody waits for the answer any more, while the primary takes a call of ours to hold the session. */
  private giveBack(key: string, answer: OwnerAnswer): void {
    if (answer.kind !== 'kept') return;
    const { claim, fresh, idle } = answer;
    if (fresh) {
      this.ports.send({ type: 'session_released', key, claim });
      return;
    }
    const copy = this.copies.peek(key);
    if (copy === null || copy.claim !== claim || copy.calls === 0)
      this.note({ key, claim, usedAt: this.ports.clock.now() - idle }, false);
  }

  private drop({ keys, idle }: Extract<SessionToWorker, { type: 'session_gone' }>): void {
    if (keys === 'all') {
      this.copies.clear();
      this.news.clear();
      return;
    }
    let kept = false;
    for (const key of keys) {
      const copy = this.copies.peek(key);
      if (idle && copy !== null && copy.calls > 0) {
        this.note(copy, true);
        kept = true;
        continue;
      }
      this.copies.forget(key);
      // What has ended here a moment ago may keep one that only seemed idle.
      if (!idle) this.news.forget(key);
    }
    // Before another worker comes to the id, which would be given another claim.
    if (kept) this.flush();
  }

  private note(session: Pick<SessionFacts, 'key' | 'claim' | 'usedAt'>, busy: boolean): void {
    this.news.note(session, busy);
    const { alarms, clock } = this.ports;
    this.alarm ??= alarms.set(clock.now() + newsInterval, () => this.flush());
  }
}
