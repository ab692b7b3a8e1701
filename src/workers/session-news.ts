import type { SessionFacts } from '../balance/sessions.js';
import type { SessionNewsEntry } from './session-messages.js';

interface News {
  claim: number;
  busy: boolean;
  usedAt: number;
}

/** What a worker has yet to tell of its sessions: of each the last state only. */
export class SessionNews {
  private readonly news = new Map<string, News>();

  get isEmpty(): boolean {
    return this.news.size === 0;
  }

  note({ key, claim, usedAt }: Pick<SessionFacts, 'key' | 'claim' | 'usedAt'>, busy: boolean): void {
    const known = this.news.get(key);
    if (known === undefined) this.news.set(key, { claim, busy, usedAt });
    else {
      known.claim = claim;
      known.busy = busy;
      known.usedAt = usedAt;
    }
  }

  /** Its session is no more, and the primary knows. */
  forget(key: string): void {
    this.news.delete(key);
  }

  clear(): void {
    this.news.clear();
  }

  /**
   * Takes all that there is.
   *
   * @param now clock milliseconds
   * @param asking ids that a call here asks for: the primary takes it to hold what it will be given
   */
  take(now: number, asking: ReadonlySet<string>): readonly SessionNewsEntry[] {
    const entries = [...this.news].map(([key, { claim, busy, usedAt }]) => ({
      key,
      claim,
      busy: busy || asking.has(key),
      usedAgo: Math.max(0, now - usedAt),
    }));
    this.news.clear();
    return entries;
  }
}
