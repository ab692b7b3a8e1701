import type { LiveSnapshot, RecentCall } from '../admin/live.js';

export interface StreamEvents {
  readonly onLive: (snapshot: LiveSnapshot) => void;
  /** Newest first; after a reconnect those that came meanwhile, or all that the proxy keeps. */
  readonly onCalls: (calls: readonly RecentCall[]) => void;
  /** The connection is there or is not; told when it changes. */
  readonly onLink: (up: boolean) => void;
}

/** The proxy tells something each second: silence for so long is a connection that is lost without saying so (ms). */
const silence = 6000;
/** Between two attempts where the browser makes none of its own (ms). */
const again = 1000;

/** Follows `/events` for as long as the page is open, whatever happens to the proxy meanwhile. */
export function follow(events: StreamEvents): void {
  let source: EventSource | null = null;
  let heard = performance.now();
  let up: boolean | null = null;

  function told(state: boolean): void {
    if (state === up) return;
    up = state;
    events.onLink(state);
  }

  function open(): void {
    source?.close();
    heard = performance.now();
    // Relative: the page may be served under a path of somebody's reverse proxy.
    const fresh = new EventSource('events');
    source = fresh;
    fresh.onerror = () => told(false);
    fresh.addEventListener('live', ({ data }: MessageEvent<string>) => {
      heard = performance.now();
      events.onLive(JSON.parse(data) as LiveSnapshot);
      told(true);
    });
    fresh.addEventListener('calls', ({ data }: MessageEvent<string>) => {
      const { calls } = JSON.parse(data) as { readonly calls: readonly RecentCall[] };
      events.onCalls(calls);
    });
  }

  open();
  setInterval(() => {
    const silent = performance.now() - heard > silence;
    if (silent) told(false);
    // A browser gives up by itself when anything but the stream is answered, as by a reverse proxy whose backend is gone; one
    // that is connecting is left to it.
    if (source?.readyState === EventSource.CLOSED || (silent && source?.readyState === EventSource.OPEN)) open();
  }, again);
}
