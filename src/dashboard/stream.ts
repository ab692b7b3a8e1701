import type { LiveSnapshot, RecentCall } from '../admin/live.js';
import type { Link } from './banners.js';

export interface StreamEvents {
  readonly onLive: (snapshot: LiveSnapshot) => void;
  /** Newest first; after a reconnect those that came meanwhile, or all that the proxy keeps. */
  readonly onCalls: (calls: readonly RecentCall[]) => void;
  /** How the page hears of the proxy; told when it changes. */
  readonly onLink: (link: Link) => void;
}

/** The proxy tells something each second: silence for so long is a connection that is lost without saying so (ms). */
const silence = 6000;
/** Between two attempts where the browser makes none of its own (ms). */
const again = 1000;
/** Between two questions while there is no room for a stream (ms). */
const asking = 2000;

/** Follows `/events` for as long as the page is open, whatever happens to the proxy meanwhile. */
export function follow(events: StreamEvents): void {
  let source: EventSource | null = null;
  let heard = performance.now();
  let link: Link | null = null;
  /** When a closed stream may be looked at. */
  let next = 0;
  let seen = { instance: '', seq: 0 };

  function told(state: Link): void {
    if (state === link) return;
    link = state;
    events.onLink(state);
  }

  function open(): void {
    source?.close();
    heard = performance.now();
    // Relative: the page may be served under a path of somebody's reverse proxy.
    const fresh = new EventSource('events');
    source = fresh;
    fresh.onerror = () => {
      if (fresh.readyState === EventSource.CLOSED) void look();
      else told('lost');
    };
    fresh.addEventListener('live', ({ data }: MessageEvent<string>) => {
      heard = performance.now();
      events.onLive(JSON.parse(data) as LiveSnapshot);
      told('up');
    });
    fresh.addEventListener('calls', ({ data }: MessageEvent<string>) => {
      const { calls } = JSON.parse(data) as { readonly calls: readonly RecentCall[] };
      events.onCalls(calls);
    });
  }

  /** The browser has given up, and does not say what was answered. */
  async function look(): Promise<void> {
    if (performance.now() < next) return;
    next = Number.POSITIVE_INFINITY;
    const status = await statusOf('events');
    // A reverse proxy whose backend is gone answers 503 too, but not for the rest.
    const crowded = status === 503 && (await ask());
    if (crowded) told('crowded');
    else {
      if (status !== 200) told('lost');
      open();
    }
    next = performance.now() + (crowded ? asking : again);
  }

  async function ask(): Promise<boolean> {
    const snapshot = (await read('live')) as LiveSnapshot | null;
    if (snapshot === null) return false;
    const { instance } = snapshot;
    if (instance !== seen.instance) seen = { instance, seq: 0 };
    const answer = (await read(`calls?since=${seen.seq}`)) as { readonly calls: readonly RecentCall[] } | null;
    if (answer === null) return false;
    events.onLive(snapshot);
    const newest = answer.calls[0];
    if (newest !== undefined) {
      seen = { instance, seq: newest.seq };
      events.onCalls(answer.calls);
    }
    return true;
  }

  open();
  setInterval(() => {
    // A browser gives up by itself when anything but the stream is answered, as by a reverse proxy whose backend is gone; one
    // that is connecting is left to it.
    if (source?.readyState === EventSource.CLOSED) return void look();
    const silent = performance.now() - heard > silence;
    if (silent) told('lost');
    if (silent && source?.readyState === EventSource.OPEN) open();
  }, again);
}

/** What a GET is answered with, its body unread; null: nothing. */
async function statusOf(path: string): Promise<number | null> {
  const stop = new AbortController();
  const late = setTimeout(() => stop.abort(), silence);
  try {
    return (await fetch(path, { signal: stop.signal })).status;
  } catch {
    return null;
  } finally {
    clearTimeout(late);
    stop.abort();
  }
}

/** The JSON there; null: none came in time. */
async function read(path: string): Promise<unknown> {
  try {
    const answer = await fetch(path, { signal: AbortSignal.timeout(silence) });
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}
