/** What has a place in the order of an `IdleOrder`. The links are that order's own. */
export interface Idle<Item> {
  older: Item | null;
  newer: Item | null;
}

/**
 * The items that nobody uses, in the order in which they were last used. A linked list of the items themselves: a Map keeps
 * that order as well, but its oldest entry is found by walking over all that were deleted before it.
 */
export class IdleOrder<Item extends Idle<Item>> {
  private first: Item | null = null;
  private last: Item | null = null;

  /** The one that has been left alone for longest. */
  get oldest(): Item | null {
    return this.first;
  }

  /** @param item one that has no place here */
  append(item: Item): void {
    const { last } = this;
    item.older = last;
    item.newer = null;
    if (last === null) this.first = item;
    else last.newer = item;
    this.last = item;
  }

  /** @param item one that has a place here */
  remove(item: Item): void {
    const { older, newer } = item;
    if (older === null) this.first = newer;
    else older.newer = newer;
    if (newer === null) this.last = older;
    else newer.older = older;
    item.older = null;
    item.newer = null;
  }

  clear(): void {
    this.first = null;
    this.last = null;
  }
}
