import { nearest } from '../config/nearest.js';
import type { Parsed } from '../config/parsed.js';
import { quote } from '../config/quote.js';
import { type Millis, millis } from '../grpc/millis.js';
import { Status, type StatusCode } from '../grpc/status.js';

/** A problem on its way to the one line that is told. */
export class Complaint extends Error {}

/** A part of a text, and where it begins, from 0. */
export interface Piece {
  readonly text: string;
  readonly offset: number;
}

/** Splits at the commas outside parentheses, and trims. */
export function splitItems(text: string): readonly Piece[] {
  const pieces: Piece[] = [];
  let from = 0;
  let depth = 0;
  for (let at = 0; at <= text.length; at += 1) {
    const char = text[at];
    if (char === '(') depth += 1;
    else if (char === ')') depth -= 1;
    if (char !== undefined && (char !== ',' || depth > 0)) continue;
    const raw = text.slice(from, at);
    pieces.push({ text: raw.trim(), offset: from + raw.length - raw.trimStart().length });
    from = at + 1;
  }
  return pieces;
}

/** @returns what a complaint says, with the item and where it begins, from 1 */
export function readItems<T>(text: string, read: (item: string) => T): Parsed<readonly T[]> {
  const values: T[] = [];
  for (const { text: item, offset } of splitItems(text)) {
    try {
      if (item === '') throw new Complaint('an item is missing');
      values.push(read(item));
    } catch (error) {
      if (!(error instanceof Complaint)) throw error;
      const what = item === '' ? '' : `, ${quote(item)}`;
      return { ok: false, problem: `at character ${offset + 1}${what}: ${error.message}` };
    }
  }
  return { ok: true, value: values };
}

const units: ReadonlyMap<string, number> = new Map([
  ['', 1],
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
]);

/** `10ms`, `1.5s`, `2m`, `10` for milliseconds. @param missing what to say where there is no text */
export function readTime(text: string, missing: string): Millis {
  if (text === '') throw new Complaint(missing);
  const [, amount, unit = ''] = /^(\d{1,9}(?:\.\d{1,6})?)(ms|s|m|)$/.exec(text) ?? [];
  if (amount === undefined) throw new Complaint(`${quote(text)} is no time; write 10ms, 1.5s, or 10 for milliseconds`);
  return millis(Number(amount) * (units.get(unit) ?? 1));
}

/** A status by its name in any case, or by its number. @param words what a misspelt one may have been */
export function readCode(text: string, words: readonly string[]): StatusCode {
  if (/^\d{1,10}$/.test(text)) return Number(text);
  const found = Object.entries(Status).find(([name]) => name === text.toUpperCase());
  if (found !== undefined) return found[1];
  const near = nearest(text, words);
  throw new Complaint(`${quote(text)} is no status, name or number${near === null ? '' : `; did you mean ${near}?`}`);
}

/** `5%`, `0.1%`: from 0 to 1. */
export function readShare(text: string): number {
  const [, amount] = /^(\d{1,3}(?:\.\d{1,9})?)%$/.exec(text) ?? [];
  const share = amount === undefined ? Number.NaN : Number(amount) / 100;
  if (!(share >= 0 && share <= 1)) throw new Complaint(`${quote(text)} is no share; write 5% or 0.1%, up to 100%`);
  return share;
}
