/**
 * A look at something that takes time, one at a time. Who asks while one is under way waits for the next, together with all
 * others who do: what it asks for may have come about since that one began.
 */
export class SharedLook<T> {
  private readonly make: () => Promise<T>;
  private current: Promise<T> | null = null;
  private next: Promise<T> | null = null;

  constructor(make: () => Promise<T>) {
    this.make = make;
  }

  get underWay(): boolean {
    return this.current !== null;
  }

  /** Rejects as `make` does. */
  look(): Promise<T> {
    if (this.next !== null) return this.next;
    if (this.current === null) return this.begin();
    const begin = (): Promise<T> => {
      this.next = null;
      return this.begin();
    };
    this.next = this.current.then(begin, begin);
    return this.next;
  }

  private begin(): Promise<T> {
    const current = this.make().finally(() => {
      this.current = null;
    });
    this.current = current;
    return current;
  }
}
