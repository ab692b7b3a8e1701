import type { FieldIndex } from './field-index.js';

/** Never put into the table: secrets of one client on a connection that many share (RFC 7541 7.1). */
const secretNames: readonly string[] = ['authorization', 'proxy-authorization', 'cookie', 'set-cookie'];

/** Nor these, which are another at each call: each would push out what is of use. */
export const varyingNames: readonly string[] = [
  'grpc-timeout',
  'grpc-previous-rpc-attempts',
  'content-length',
  'traceparent',
  'tracestate',
  'grpc-trace-bin',
  'x-request-id',
];

const neverAdded: ReadonlySet<string> = new Set([...secretNames, ...varyingNames]);

/** The longest value that is put into the table (bytes). */
const longestValue = 256;

/** So many new values of a name in a row, none of them seen again: the name is taken to vary. */
const patience = 8;

/** Names whose habit is known at a time, and the longest of them (bytes). */
const maxHabits = 64;
const longestHabitName = 64;

interface Habit {
  /** New values in a row of which none was of use. */
  misses: number;
  /** The last new value. */
  last: string;
  /** Number of the last entry put in. */
  entry: number;
}

/**
 * Which fields go into a connection's dynamic table. A name that varies is found out by its entries: they are never
 * referred to. It is given another chance as soon as one is, or a value comes twice in a row.
 */
export class IndexingPolicy {
  private readonly habits = new Map<string, Habit>();

  /** Whether to put in this field, which is in no table and did not come never-indexed. The caller then does so at once. */
  admits(name: string, value: string, index: FieldIndex): boolean {
    if (value.length > longestValue || neverAdded.has(name)) return false;
    // Each is a method, and there are only so many: the ones not yet seen again will be.
    if (name === ':path' || name.length > longestHabitName) return true;
    const next = index.table.inserted + 1;
    const habit = this.habits.get(name);
    if (habit === undefined) {
      this.remember(name, { misses: 0, last: value, entry: next });
      return true;
    }
    habit.misses = habit.last === value || index.wasUsed(habit.entry) ? 0 : habit.misses + 1;
    habit.last = value;
    if (habit.misses >= patience) return false;
    habit.entry = next;
    return true;
  }

  private remember(name: string, habit: Habit): void {
    if (this.habits.size >= maxHabits) {
      // The oldest, in a Map's order.
      for (const oldest of this.habits.keys()) {
        this.habits.delete(oldest);
        break;
      }
    }
    this.habits.set(name, habit);
  }
}
