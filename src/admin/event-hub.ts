import type { AlarmHandle, Alarms, Clock } from '../runtime/ports.js';
import type { CallRing } from './call-ring.js';
import {
  callsEvent,
  greet,
  liveEvent,
  liveEvery,
  opening,
  openStream,
  type StreamDecision,
  type StreamState,
  stepStream,
  streamEvery,
} from './event-stream.js';
import type { LiveSnapshot } from './live.js';

/** Who reads a stream, as the hub sees it. */
export interface EventSink {
  write(bytes: Buffer): void;
  /** Bytes that wait in this process, and those that the kernel has taken. */
  readonly unsent: number;
  readonly taken: number;
  /** Ends the stream once all is sent. */
  end(): void;
  /** Ends it now. */
  cut(): void;
}

/** What the streams tell. */
export interface EventSource {
  readonly instance: string;
  readonly ring: Pick<CallRing, 'newest' | 'since'>;
  readonly snapshot: () => LiveSnapshot;
}

/** All streams of `/events`. */
export interface EventHub {
  /** No further stream may be opened. */
  readonly full: boolean;
  /** Begins a stream. @returns what is to be called when its reader has gone */
  open(sink: EventSink, lastEventId: string | undefined): () => void;
  /** Ends all streams, and those that come later at once. */
  stop(): void;
}

/** Streams at a time. */
export const mostStreams = 16;

/**
 * One alarm for all streams, and none while there is no stream: what they tell is made once for all.
 *
 * @param onDefect a fault of ours that ended all streams
 */
export function createEventHub(
  { clock, alarms }: { readonly clock: Clock; readonly alarms: Alarms },
  source: EventSource,
  onDefect: (error: unknown) => void,
): EventHub {
  const streams = new Map<EventSink, StreamState>();
  let alarm: AlarmHandle | null = null;
  let liveAt = 0;
  let stopped = false;

  /** What streams are told at one moment. */
  function createPage(): (decision: Exclude<StreamDecision, { type: 'end' }>) => Buffer {
    const made = new Map<string, Buffer>();
    const make = (key: string, text: () => string): Buffer => {
      const known = made.get(key);
      if (known !== undefined) return known;
      const bytes = Buffer.from(text());
      made.set(key, bytes);
      return bytes;
    };
    const { ring, instance } = source;
    return (decision) =>
      decision.type === 'live'
        ? make('live', () => liveEvent(source.snapshot()))
        : make(`calls ${decision.since}`, () => callsEvent(ring.since(decision.since), instance, ring.newest));
  }

  function tell(sink: EventSink, decisions: readonly StreamDecision[], page: ReturnType<typeof createPage>): void {
    for (const decision of decisions) {
      if (decision.type !== 'end') sink.write(page(decision));
      else {
        streams.delete(sink);
        sink.cut();
      }
    }
  }

  /** An alarm's fault would end the process: it ends the streams. */
  function tick(): void {
    try {
      look(clock.now());
    } catch (error) {
      onDefect(error);
      for (const sink of streams.keys()) sink.cut();
      streams.clear();
    }
    wake();
  }

  function look(now: number): void {
    const live = now >= liveAt;
    if (live) liveAt += liveEvery;
    // Behind by a whole one: what was missed is not made up for.
    if (liveAt <= now) liveAt = now + liveEvery;
    const page = createPage();
    const { newest } = source.ring;
    for (const [sink, before] of [...streams]) {
      const { unsent, taken } = sink;
      const { state, decisions } = stepStream(before, { now, newest, live, unsent, taken });
      streams.set(sink, state);
      tell(sink, decisions, page);
    }
  }

  function wake(): void {
    alarm = streams.size === 0 ? null : alarms.set(clock.now() + streamEvery, tick);
  }

  return {
    get full() {
      return streams.size >= mostStreams;
    },
    open(sink, lastEventId) {
      if (stopped) {
        sink.end();
        return () => {};
      }
      const now = clock.now();
      const { newest } = source.ring;
      const state = openStream(lastEventId, source.instance, newest, now);
      sink.write(Buffer.from(opening));
      tell(sink, greet(state), createPage());
      streams.set(sink, { ...state, told: newest });
      if (alarm === null) {
        liveAt = now + liveEvery;
        wake();
      }
      return () => {
        streams.delete(sink);
        if (streams.size > 0 || alarm === null) return;
        alarms.cancel(alarm);
        alarm = null;
      };
    },
    stop() {
      stopped = true;
      if (alarm !== null) alarms.cancel(alarm);
      alarm = null;
      for (const sink of streams.keys()) sink.end();
      streams.clear();
    },
  };
}
