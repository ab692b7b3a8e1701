/** A value read from outside, or what is wrong with it: one phrase that says what is allowed, without its place. */
export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };
