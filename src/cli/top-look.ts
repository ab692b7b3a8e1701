import type { Paint } from '../text/paint.js';

/** What a frame needs to know beside the state. */
export interface Look {
  /** `rows` null: no terminal, as many as it takes. */
  readonly size: { readonly columns: number; readonly rows: number | null };
  readonly paint: Paint;
  /** The address of the admin listener, as given. */
  readonly source: string;
  /** Clock milliseconds. */
  readonly now: number;
  /** A wall clock (ms since 1970) as a time of day of eight characters. */
  readonly timeOfDay: (at: number) => string;
}
