/** What a read of files came to. */
export interface ReadResult {
  readonly outcome: 'applied' | 'unchanged' | 'rejected';
  /** One sentence where they were rejected. */
  readonly problem: string | null;
}

/**
 * Those who asked for a read and wait for what it comes to. A read that was under way when they asked may have begun before
 * the change that they mean: they wait for the one after it.
 */
export class AskedReads {
  private current: ((result: ReadResult | null) => void)[] = [];
  private next: ((result: ReadResult | null) => void)[] = [];

  /** Resolves to null where nothing is read any more. @param reading a read is under way */
  wait(reading: boolean): Promise<ReadResult | null> {
    return new Promise((resolve) => {
      (reading ? this.next : this.current).push(resolve);
    });
  }

  /** The read under way is over. */
  settle(result: ReadResult): void {
    for (const resolve of this.current) resolve(result);
    this.current = this.next;
    this.next = [];
  }

  /** Nothing is read any more. */
  end(): void {
    for (const resolve of [...this.current, ...this.next]) resolve(null);
    this.current = [];
    this.next = [];
  }
}
