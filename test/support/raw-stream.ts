import { Happenings } from './alive.js';
import { type Line, reset } from './frames.js';
import { frameMessage, soleValue, splitMessages, valuesOf } from './grpc-lines.js';
import type { PlainField } from './plain-hpack.js';
import type { RawConnection } from './raw-connection.js';

/** How a stream is over, seen from here. */
export type RawEnd =
  | { readonly kind: 'ended' }
  | { readonly kind: 'reset'; readonly code: number }
  | { readonly kind: 'lost' };

/** A header block as it came. */
export interface RawBlock {
  readonly lines: readonly Line[];
  /** The same, with how each line was written. */
  readonly fields: readonly PlainField[];
  readonly endStream: boolean;
}

/**
 * One stream on one end of a connection: all that the peer sent on it, in order, and the means to send. Nothing is checked,
 * nothing is put right; sending breaks every rule that the test asks it to break.
 */
export class RawStream {
  readonly id: number;
  readonly connection: RawConnection;
  readonly blocks: RawBlock[] = [];
  /** The parts of DATA as framed by the peer. */
  readonly parts: Buffer[] = [];
  /** The peer has sent END_STREAM. */
  ended = false;
  /** Of the peer's RST_STREAM. */
  resetCode: number | null = null;
  /** The connection ended first. */
  lost = false;
  private readonly happenings = new Happenings();

  constructor(connection: RawConnection, id: number) {
    this.connection = connection;
    this.id = id;
  }

  /** All the peer's DATA. */
  get data(): Buffer {
    return Buffer.concat(this.parts);
  }

  /** The peer's whole messages, without prefixes. */
  get messages(): Buffer[] {
    return splitMessages(this.data);
  }

  /** How the peer's side is over; null while it is not. A reset says more than the END_STREAM before it. */
  get end(): RawEnd | null {
    if (this.resetCode !== null) return { kind: 'reset', code: this.resetCode };
    if (this.ended) return { kind: 'ended' };
    return this.lost ? { kind: 'lost' } : null;
  }

  changed(): void {
    this.happenings.changed();
  }

  // === Waiting ===

  /** The nth header block (from 0). */
  whenBlock(index: number): Promise<RawBlock> {
    return this.until(`header block ${index}`, () => this.blocks[index]);
  }

  whenData(bytes: number): Promise<Buffer> {
    return this.until(`${bytes} bytes of DATA`, () => (this.data.length >= bytes ? this.data : undefined));
  }

  whenMessages(count: number): Promise<Buffer[]> {
    return this.until(`${count} messages`, () => (this.messages.length >= count ? this.messages : undefined));
  }

  /** END_STREAM from the peer. */
  async whenEnded(): Promise<void> {
    await this.until('END_STREAM', () => (this.ended ? true : undefined));
  }

  /** RST_STREAM from the peer, after END_STREAM too; its code. */
  whenReset(): Promise<number> {
    return this.until(
      'RST_STREAM',
      () => this.resetCode ?? undefined,
      ({ kind }) => kind === 'lost',
    );
  }

  /** END_STREAM, RST_STREAM or the connection's end, whichever comes first. */
  whenOver(): Promise<RawEnd> {
    return this.until('the end', () => this.end ?? undefined);
  }

  /** @param hopeless whether an end means that the thing cannot come any more: then the wait fails at once */
  private until<T>(
    what: string,
    read: () => T | undefined,
    hopeless: (end: RawEnd) => boolean = () => true,
  ): Promise<T> {
    return this.happenings.until(`${what} on stream ${this.id}`, () => {
      const value = read();
      if (value === undefined && this.end !== null && hopeless(this.end)) {
        throw new Error(`${what} cannot come any more on stream ${this.id}: ${describe(this.end)}`);
      }
      return value;
    });
  }

  // === Sending ===

  /** A header block as given, pseudo-header fields too. @param neverIndexed names to write so (RFC 7541 6.2.3) */
  sendBlock(lines: readonly Line[], endStream: boolean, neverIndexed: readonly string[] = []): void {
    this.connection.sendBlock(this.id, lines, endStream, neverIndexed);
  }

  /** DATA in frames as the peer's windows permit, the rest when they grow. Resolves when the last byte has left. */
  sendData(bytes: Uint8Array, endStream = false): Promise<void> {
    return this.connection.sendData(this.id, bytes, endStream);
  }

  /** One message, with its prefix. */
  sendMessage(message: string | Uint8Array, endStream = false): Promise<void> {
    return this.sendData(frameMessage(message), endStream);
  }

  /** RST_STREAM. What waits for window is dropped. */
  reset(code: number): void {
    this.connection.drop(this.id);
    this.connection.send(reset(this.id, code));
  }

  /** WINDOW_UPDATE on the stream alone. */
  giveWindow(bytes: number): void {
    this.connection.giveWindow(this.id, bytes);
  }
}

function describe(end: RawEnd): string {
  switch (end.kind) {
    case 'ended':
      return 'the peer ended it';
    case 'reset':
      return `the peer reset it with code ${end.code}`;
    case 'lost':
      return 'the connection is gone';
    default:
      return end satisfies never;
  }
}

/** A block's single value of one name; undefined where the block or the name is not there. */
export function lineOf(block: RawBlock | undefined, name: string): string | undefined {
  return block === undefined ? undefined : soleValue(block.lines, name);
}

/** A block's values of one name, in order. */
export function linesOf(block: RawBlock | undefined, name: string): string[] {
  return block === undefined ? [] : valuesOf(block.lines, name);
}
