/** A piece of a text, and how to come by the next; null: it was the last. Who reads holds no more than what it has not read. */
interface Piece {
  readonly bytes: Buffer;
  readonly next: Next;
}

type Next = () => Promise<Piece | null>;

/** A text that is being made, as long as somebody reads it. */
interface Rendering {
  readonly first: Next;
  /** Clock milliseconds. */
  readonly since: number;
}

/** Who comes later than this after a rendering began gets one of its own (ms): numbers are not to be old. */
const joinWithin = 5000;
/** Renderings at a time; each keeps numbers, and text that one of its readers has not taken. */
const mostRenderings = 4;

/**
 * A long text that is made piece by piece, each in a turn of its own, at the pace of whoever reads fastest. Who asks while it
 * is made reads the same one. Nothing is made that nobody waits for.
 */
export class SharedText {
  private readonly render: () => Iterable<string>;
  private readonly turn: () => Promise<void>;
  private readonly now: () => number;
  /** The one that others may join. */
  private current: Rendering | null = null;
  /** Renderings that are read, and by how many. */
  private readonly readers = new Map<Rendering, number>();

  /**
   * @param render begins one, and makes a piece whenever it is asked for the next
   * @param turn resolves when a piece may be made: one in each turn of the event loop, however many renderings there are
   * @param now clock milliseconds
   */
  constructor(render: () => Iterable<string>, turn: () => Promise<void>, now: () => number) {
    this.render = render;
    this.turn = turn;
    this.now = now;
  }

  /** Whoever reads now begins one more than there may be. */
  get full(): boolean {
    this.release();
    return this.current === null && this.readers.size >= mostRenderings;
  }

  /** Bytes of UTF-8. What it returns must be asked for its first, and be read to its end or be returned. */
  read(): AsyncGenerator<Buffer, void> {
    this.release();
    const rendering = this.current ?? this.begin();
    this.readers.set(rendering, (this.readers.get(rendering) ?? 0) + 1);
    return this.pieces(rendering.first, () => this.leave(rendering));
  }

  private begin(): Rendering {
    const done = (): void => {
      if (this.current === rendering) this.current = null;
    };
    const steps = this.render()[Symbol.iterator]();
    const rendering = { first: this.link(steps, done), since: this.now() };
    this.current = rendering;
    return rendering;
  }

  /** Made once, when the first asks for it. */
  private link(steps: Iterator<string>, done: () => void): Next {
    let made: Promise<Piece | null> | null = null;
    const make = async (): Promise<Piece | null> => {
      try {
        for (;;) {
          await this.turn();
          this.release();
          const step = steps.next();
          if (step.done === true) break;
          if (step.value !== '') return { bytes: Buffer.from(step.value), next: this.link(steps, done) };
        }
      } catch (error) {
        done();
        throw error;
      }
      done();
      return null;
    };
    return () => {
      made ??= make();
      return made;
    };
  }

  private async *pieces(first: Next, leave: () => void): AsyncGenerator<Buffer, void> {
    const place = { next: first };
    try {
      for (let piece = await place.next(); piece !== null; piece = await place.next()) {
        place.next = piece.next;
        yield piece.bytes;
      }
    } finally {
      leave();
    }
  }

  /** Lets the first pieces of one go that nobody may join any more. */
  private release(): void {
    if (this.current !== null && this.now() - this.current.since >= joinWithin) this.current = null;
  }

  private leave(rendering: Rendering): void {
    const left = (this.readers.get(rendering) ?? 0) - 1;
    if (left > 0) {
      this.readers.set(rendering, left);
      return;
    }
    this.readers.delete(rendering);
    if (this.current === rendering) this.current = null;
  }
}
