import { ClosedStreams } from './closed-streams.js';
import { IdTable } from './id-table.js';
import type { SendQueue } from './send-queue.js';
import type { StreamCore } from './stream.js';
import { StreamCounts } from './stream-counts.js';
import type { ConnectionEvents, Role, StreamEnd } from './types.js';

/** A connection's open streams. A stream leaves it before its last event, so that there is room for another within it. */
export class StreamTable {
  readonly past: ClosedStreams;
  readonly counts: StreamCounts;
  /** Open streams, those without an id included. */
  size = 0;
  private readonly byId = new IdTable<StreamCore>();
  /** Client role: opened, HEADERS not sent yet. Nearly always empty or one. */
  private readonly unsent: StreamCore[] = [];
  private readonly events: ConnectionEvents;
  private readonly queue: SendQueue;

  /** @param remembered how many streams that were reset are still known */
  constructor(role: Role, events: ConnectionEvents, queue: SendQueue, remembered: number) {
    this.counts = new StreamCounts(role === 'client');
    this.past = new ClosedStreams(remembered);
    this.events = events;
    this.queue = queue;
  }

  get(id: number): StreamCore | undefined {
    return this.byId.get(id);
  }

  /** Streams opened that have no id yet. */
  get waitingForId(): number {
    return this.unsent.length;
  }

  addUnsent(stream: StreamCore): void {
    this.unsent.push(stream);
    this.size += 1;
  }

  /** An unsent stream has its id now. */
  promote(stream: StreamCore): void {
    this.forgetUnsent(stream);
    this.byId.add(stream.id, stream);
    this.counts.started += 1;
  }

  /** One that the peer has opened. */
  add(stream: StreamCore): void {
    this.byId.add(stream.id, stream);
    this.size += 1;
    this.counts.started += 1;
    this.counts.lastOpenedAt = stream.openedAt;
  }

  /** Takes a stream out that is closed now. `announce` follows, after its owner's last event. */
  remove(stream: StreamCore): void {
    if (stream.id === 0) this.forgetUnsent(stream);
    else {
      this.byId.delete(stream.id);
      this.counts.ended(stream);
    }
    stream.close();
    this.queue.remove(stream);
    this.size -= 1;
  }

  announce(stream: StreamCore): void {
    this.events.onStreamClosed(stream);
  }

  /** Ends a stream and tells both owners. */
  end(stream: StreamCore, end: StreamEnd): void {
    this.remove(stream);
    stream.events?.onEnd(stream, end);
    this.announce(stream);
  }

  /** Those that have an id, by no order. Nothing may open or end while they are gone through. */
  numbered(): IterableIterator<StreamCore> {
    return this.byId.all();
  }

  /** All that are open now, in the order of their ids, apart from the table, so that owners may open and reset streams meanwhile. */
  snapshot(): StreamCore[] {
    return [...[...this.byId.all()].sort((a, b) => a.id - b.id), ...this.unsent];
  }

  /** The connection is gone: every stream ends. */
  loseAll(detail: string): void {
    for (const stream of this.snapshot()) {
      if (!stream.closed) this.end(stream, { kind: 'lost', flushed: stream.flushed, detail });
    }
  }

  private forgetUnsent(stream: StreamCore): void {
    const { unsent } = this;
    // HEADERS nearly always follow at once.
    if (unsent[unsent.length - 1] === stream) unsent.pop();
    else unsent.splice(unsent.indexOf(stream), 1);
  }
}
