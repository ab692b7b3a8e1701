/** A line that is longer is passed on in parts (bytes). */
const longest = 1024 * 1024;

/** Cuts what a process writes into whole lines, so that the lines of several processes can share one output. */
export class Lines {
  private held: Buffer[] = [];
  private bytes = 0;

  /** Returns all lines that are whole by now, with their ends; null: none is. */
  push(chunk: Buffer): Buffer | null {
    const end = chunk.lastIndexOf(0x0a) + 1;
    if (end === 0) {
      this.hold(chunk);
      return this.bytes > longest ? this.take() : null;
    }
    this.hold(chunk.subarray(0, end));
    const whole = this.take();
    if (end < chunk.length) this.hold(Buffer.from(chunk.subarray(end)));
    return whole;
  }

  /** What is left of a process that has ended, with the end of line that it lacks; null: nothing. */
  end(): Buffer | null {
    if (this.bytes === 0) return null;
    this.hold(Buffer.from('\n'));
    return this.take();
  }

  private hold(chunk: Buffer): void {
    this.held.push(chunk);
    this.bytes += chunk.length;
  }

  private take(): Buffer {
    const whole = this.held.length === 1 && this.held[0] !== undefined ? this.held[0] : Buffer.concat(this.held);
    this.held = [];
    this.bytes = 0;
    return whole;
  }
}
