import type { Line } from './frames.js';
import { headerLines, trailerLines, trailersOnlyLines } from './grpc-lines.js';
import type { RawConnection } from './raw-connection.js';
import { lineOf, linesOf, type RawEnd, type RawStream } from './raw-stream.js';

/** A request as a backend got it, and the means to answer it. */
export class RecordedStream {
  readonly raw: RawStream;
  /** The name of the backend that got it. */
  readonly backend: string;

  constructor(raw: RawStream, backend: string) {
    this.raw = raw;
    this.backend = backend;
  }

  get id(): number {
    return this.raw.id;
  }
  get connection(): RawConnection {
    return this.raw.connection;
  }
  /** The request's header lines, in order. */
  get headers(): readonly Line[] {
    return this.raw.blocks[0]?.lines ?? [];
  }
  /** Names of request header lines that came never-indexed (RFC 7541 6.2.3). */
  get neverIndexed(): string[] {
    const fields = this.raw.blocks[0]?.fields ?? [];
    return fields.filter(({ written }) => written === 'neverIndexed').map(({ name }) => name);
  }
  /** The one value of a request header; undefined where there is none. */
  header(name: string): string | undefined {
    return lineOf(this.raw.blocks[0], name);
  }
  /** All values of a request header. */
  headerValues(name: string): string[] {
    return linesOf(this.raw.blocks[0], name);
  }
  get data(): Buffer {
    return this.raw.data;
  }
  get messages(): Buffer[] {
    return this.raw.messages;
  }
  /** The request's END_STREAM came. */
  get ended(): boolean {
    return this.raw.ended;
  }
  /** Of the proxy's RST_STREAM. */
  get resetCode(): number | null {
    return this.raw.resetCode;
  }

  whenData(bytes: number): Promise<Buffer> {
    return this.raw.whenData(bytes);
  }
  whenMessages(count: number): Promise<Buffer[]> {
    return this.raw.whenMessages(count);
  }
  whenEnded(): Promise<void> {
    return this.raw.whenEnded();
  }
  whenReset(): Promise<number> {
    return this.raw.whenReset();
  }
  whenOver(): Promise<RawEnd> {
    return this.raw.whenOver();
  }

  /** Response headers. */
  sendHeaders(extra: readonly Line[] = []): this {
    this.raw.sendBlock(headerLines(extra), false);
    return this;
  }
  /** One message, with its prefix. */
  sendMessage(message: string | Uint8Array): Promise<void> {
    return this.raw.sendMessage(message);
  }
  sendData(bytes: Uint8Array, endStream = false): Promise<void> {
    return this.raw.sendData(bytes, endStream);
  }
  /** Trailers after headers. They stay behind DATA that waits for window. */
  trailers(code: number, extra: readonly Line[] = []): void {
    this.raw.sendBlock(trailerLines(code, extra), true);
  }
  trailersOnly(code: number, extra: readonly Line[] = []): void {
    this.raw.sendBlock(trailersOnlyLines(code, extra), true);
  }
  /** A header block with exactly these lines. */
  block(lines: readonly Line[], endStream: boolean, neverIndexed: readonly string[] = []): void {
    this.raw.sendBlock(lines, endStream, neverIndexed);
  }
  reset(code: number): void {
    this.raw.reset(code);
  }
  /** Headers, messages, trailers. */
  async answer(messages: readonly (string | Uint8Array)[], code = 0, extra: readonly Line[] = []): Promise<void> {
    this.sendHeaders();
    for (const message of messages) await this.sendMessage(message);
    this.trailers(code, extra);
  }
}
