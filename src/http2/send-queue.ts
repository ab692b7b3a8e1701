import { type StreamCore, Waiting } from './stream.js';

/** Streams that wait for the connection's window or the output, first come first served. Linked, so that a stream that closes leaves at once. */
export class SendQueue {
  private first: StreamCore | null = null;
  private last: StreamCore | null = null;

  get empty(): boolean {
    return this.first === null;
  }

  /** Does nothing for one that is in it. */
  push(stream: StreamCore): void {
    if (stream.waiting === Waiting.queued) return;
    stream.waiting = Waiting.queued;
    stream.before = this.last;
    if (this.last === null) this.first = stream;
    else this.last.after = stream;
    this.last = stream;
  }

  shift(): StreamCore | null {
    const { first } = this;
    if (first !== null) this.remove(first);
    return first;
  }

  /** Does nothing for one that is not in it. */
  remove(stream: StreamCore): void {
    if (stream.waiting !== Waiting.queued) return;
    stream.waiting = Waiting.no;
    if (stream.before === null) this.first = stream.after;
    else stream.before.after = stream.after;
    if (stream.after === null) this.last = stream.before;
    else stream.after.before = stream.before;
    stream.before = null;
    stream.after = null;
  }
}
