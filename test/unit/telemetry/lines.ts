import { Writable } from 'node:stream';

/** Takes what is logged. */
export class Lines extends Writable {
  text = '';

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk.toString('utf8');
    done();
  }

  /** The JSON lines, parsed; each must be one object on one line. */
  get objects(): Record<string, unknown>[] {
    const lines = this.text.split('\n');
    if (lines.pop() !== '') throw new Error(`the last line is not ended: ${this.text}`);
    return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  }
}
