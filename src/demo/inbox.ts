import type { CallObserver, CallRecord } from '../proxy/observer.js';

/** The proxy's records, taken one by one. */
export interface Inbox {
  readonly observer: CallObserver;
  next(): Promise<CallRecord>;
}

export function createInbox(): Inbox {
  const waiting: CallRecord[] = [];
  let taker: ((record: CallRecord) => void) | null = null;
  return {
    observer: {
      wants: () => true,
      onCallEnded(record) {
        if (taker === null) waiting.push(record);
        else taker(record);
        taker = null;
      },
    },
    next() {
      const record = waiting.shift();
      if (record !== undefined) return Promise.resolve(record);
      return new Promise((resolve) => {
        taker = resolve;
      });
    },
  };
}
