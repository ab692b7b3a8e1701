declare const unit: unique symbol;

/** A duration or an instant of the injected monotonic clock, in milliseconds; may be fractional. */
export type Millis = number & { readonly [unit]: 'ms' };

/** Marks a plain number of milliseconds as such. The one cast, so that seconds cannot slip in unnoticed. */
export function millis(value: number): Millis {
  return value as Millis;
}
