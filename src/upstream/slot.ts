import type { Http2Connection } from '../http2/types.js';
import type { AlarmHandle } from '../runtime/ports.js';
import type { KeepaliveWatch } from './keepalive-watch.js';
import type { Link } from './link.js';
import type { ConnectionView, Generation } from './types.js';

/**
 * connecting → up → retired, or gone: `retired` takes no new streams and ends with its last one (GOAWAY, spare, stop); `gone`
 * is lost or never came up, and its socket may still be closing.
 */
export type Phase = 'connecting' | 'up' | 'retired' | 'gone';

/** One connection of a backend. */
export interface Slot {
  phase: Phase;
  readonly link: Link;
  /** Null while connecting. */
  connection: Http2Connection | null;
  /** 0 while connecting. */
  generation: Generation;
  /** See ConnectionLife. */
  superseded: boolean;
  /** Clock ms. */
  upAt: number;
  /** It has served: a stream ended on it while it was well, or was open at its GOAWAY. */
  useful: boolean;
  /** Of the connect. */
  readonly timeout: AlarmHandle;
  /** Null while connecting, and where there is no keepalive. */
  watch: KeepaliveWatch | null;
  /** Streams opened so far, and how many they were when spare connections were last looked for. */
  opened: number;
  openedBefore: number;
}

/** A connection in the making. */
export function createSlot(link: Link, timeout: AlarmHandle): Slot {
  return {
    phase: 'connecting',
    link,
    connection: null,
    generation: 0,
    superseded: false,
    upAt: 0,
    useful: false,
    timeout,
    watch: null,
    opened: 0,
    openedBefore: -1,
  };
}

/** Whether a connection is newer than the other, and well. */
export function succeeds({ connection, generation }: Slot, older: Slot): boolean {
  return generation > older.generation && connection?.ready === true;
}

/** The one with the fewest streams, of those with room; null where none has any. */
export function roomiest(slots: readonly Slot[]): Slot | null {
  let best: Slot | null = null;
  let fewest = Number.POSITIVE_INFINITY;
  for (const slot of slots) {
    const { connection } = slot;
    if (connection === null || connection.openStreams >= fewest || connection.room === 0) continue;
    best = slot;
    fewest = connection.openStreams;
  }
  return best;
}

/** Of those that serve. */
export function viewsOf(slots: readonly Slot[]): ConnectionView[] {
  return slots.flatMap(({ phase, connection, link, generation, watch }) => {
    const view = phase === 'up' || phase === 'retired' ? link.view() : null;
    if (connection === null || view === null) return [];
    return [
      {
        traffic: view.traffic,
        get socket() {
          return view.socket;
        },
        connection,
        generation,
        keepalives: watch?.sent ?? 0,
      },
    ];
  });
}
