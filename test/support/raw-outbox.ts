import { data, endStream } from './frames.js';

/** DATA that waits for the peer's windows. */
interface Waiting {
  readonly streamId: number;
  rest: Uint8Array;
  readonly end: boolean;
  /** Frames for when all of it has left. */
  readonly after: readonly Uint8Array[];
  readonly over: () => void;
}

/** The initial flow-control window (RFC 9113 6.9.2). */
const firstWindow = 65_535;
export const largestFrame = 16_384;

/** DATA on its way out, kept to the peer's windows (RFC 9113 5.2, 6.9), in order on each stream. */
export class RawOutbox {
  private window = firstWindow;
  private initial = firstWindow;
  private readonly streamWindows = new Map<number, number>();
  private waiting: Waiting[] = [];
  private readonly send: (...frames: readonly Uint8Array[]) => void;

  constructor(send: (...frames: readonly Uint8Array[]) => void) {
    this.send = send;
  }

  /**
   * @param after frames to send when the last byte has left
   * @returns resolves then, or when it is dropped
   */
  queue(streamId: number, bytes: Uint8Array, end: boolean, after: readonly Uint8Array[]): Promise<void> {
    return new Promise((over) => {
      this.waiting.push({ streamId, rest: bytes, end, after, over });
      this.flush();
    });
  }

  /** Forgets what waits on a stream; null: on all. */
  drop(streamId: number | null): void {
    const dropped = this.waiting.filter((waiting) => streamId === null || waiting.streamId === streamId);
    this.waiting = this.waiting.filter((waiting) => !dropped.includes(waiting));
    for (const waiting of dropped) waiting.over();
  }

  /** The peer's WINDOW_UPDATE; stream 0 is the connection. */
  grow(streamId: number, bytes: number): void {
    if (streamId === 0) this.window += bytes;
    else this.streamWindows.set(streamId, this.windowOf(streamId) + bytes);
    this.flush();
  }

  /** The peer's SETTINGS_INITIAL_WINDOW_SIZE: the difference goes to every open stream (RFC 9113 6.9.2). */
  setInitial(bytes: number): void {
    const change = bytes - this.initial;
    this.initial = bytes;
    for (const [id, window] of this.streamWindows) this.streamWindows.set(id, window + change);
    this.flush();
  }

  private windowOf(streamId: number): number {
    return this.streamWindows.get(streamId) ?? this.initial;
  }

  private flush(): void {
    const blocked = new Set<number>();
    for (const waiting of [...this.waiting]) {
      if (blocked.has(waiting.streamId)) continue;
      if (this.push(waiting)) {
        this.waiting = this.waiting.filter((other) => other !== waiting);
        this.send(...waiting.after);
        waiting.over();
      } else blocked.add(waiting.streamId);
    }
  }

  /** Sends what the windows permit; whether that was all. */
  private push(waiting: Waiting): boolean {
    const { streamId } = waiting;
    for (;;) {
      const room = Math.max(0, Math.min(largestFrame, this.window, this.windowOf(streamId)));
      const part = waiting.rest.subarray(0, room);
      if (part.length === 0 && waiting.rest.length > 0) return false;
      waiting.rest = waiting.rest.subarray(part.length);
      this.window -= part.length;
      this.streamWindows.set(streamId, this.windowOf(streamId) - part.length);
      const all = waiting.rest.length === 0;
      if (part.length > 0 || waiting.end) this.send(data(streamId, part, waiting.end && all ? endStream : 0));
      if (all) return true;
    }
  }
}
