import { didYouMean } from '../config/nearest.js';
import type { Parsed } from '../config/parsed.js';
import { quote } from '../config/quote.js';
import type { Millis } from '../grpc/millis.js';
import { Status, type StatusCode } from '../grpc/status.js';
import { Complaint, readCode, readItems, readShare, readTime } from './grammar.js';

/** How an attempt fails: with a status, after so long; null: after as long as an answer takes. */
export interface Failing {
  readonly kind: 'status';
  readonly code: StatusCode;
  readonly after: Millis | null;
}

/** Failures at any time. */
export interface Failure extends Failing {
  /** Of all attempts. */
  readonly share: number;
}

/** While something is amiss: from the run's start, `to` excluded. */
export interface Spell {
  readonly from: Millis;
  readonly to: Millis;
  /** Its index; null: every backend. */
  readonly backend: number | null;
}

export interface Outage extends Spell {
  /** Of the attempts that it begins to work on meanwhile. */
  readonly share: number;
  readonly how:
    | Failing
    /** It never answers. */
    | { readonly kind: 'silent' }
    /** Its connections are lost, and none can be made. */
    | { readonly kind: 'down' };
}

/** Answers take so many times as long. */
export interface Slowness extends Spell {
  readonly factor: number;
}

const statuses = Object.keys(Status).filter((name) => name !== 'OK');

/** `5%:UNAVAILABLE,0.1%:INTERNAL@2ms`, or `none`. */
export function parseFailures(text: string): Parsed<readonly Failure[]> {
  if (text.trim().toLowerCase() === 'none') return { ok: true, value: [] };
  const read = readItems(text, (item): Failure => {
    const [, share, rest] = /^([^:]*):(.*)$/s.exec(item) ?? [];
    if (share === undefined || rest === undefined) throw new Complaint('write SHARE:STATUS, like 5%:UNAVAILABLE');
    return { share: readShare(share.trim()), ...readFailing(rest.trim()) };
  });
  if (!read.ok) return read;
  const sum = read.value.reduce((all, { share }) => all + share, 0);
  if (sum > 1 + 1e-9)
    return { ok: false, problem: `the shares are ${Number((sum * 100).toFixed(6))} % together, more than 100 %` };
  return read;
}

function readFailing(text: string): Failing {
  const [name = '', time, ...more] = text.split('@');
  if (more.length > 0) throw new Complaint('one "@TIME" a status');
  const code = readCode(name, statuses);
  if (code === Status.OK) throw new Complaint('OK is no failure');
  return { kind: 'status', code, after: time === undefined ? null : readTime(time, '@TIME needs its time') };
}

/** `10s-20s[:backend=b1][:rate=50%][:UNAVAILABLE[@1ms]|:silent|:down]`. @param backends how many there are */
export function parseOutage(text: string, backends: number): Parsed<Outage> {
  return readSpell(text, backends, (spell, options): Outage => {
    let share = 1;
    let given: { readonly option: string; readonly how: Outage['how'] } | null = null;
    for (const option of options) {
      const [, rate] = /^rate=(.*)$/s.exec(option) ?? [];
      if (rate !== undefined) share = readShare(rate);
      else {
        const how: Outage['how'] = option === 'silent' || option === 'down' ? { kind: option } : readHow(option);
        if (given !== null)
          throw new Complaint(
            `${quote(given.option)} and ${quote(option)} contradict each other: one of them, or an --outage for each`,
          );
        given = { option, how };
      }
    }
    const how = given?.how ?? { kind: 'status', code: Status.UNAVAILABLE, after: null };
    if (how.kind === 'down' && share < 1) throw new Complaint('what is down is down for all: leave rate= out');
    return { ...spell, share, how };
  });
}

function readHow(option: string): Failing {
  if (/^[a-z]+$/.test(option) || option.includes('=')) {
    const known = ['backend=', 'rate=', 'silent', 'down', ...statuses];
    if (!statuses.includes(option.toUpperCase()))
      throw new Complaint(
        `${quote(option)} is no option${didYouMean(option, known) || '; there are backend=NAME, rate=SHARE, a status, silent and down'}`,
      );
  }
  return readFailing(option);
}

/** `10s-20s[:backend=b2]:x10`; `×10` as well. @param backends how many there are */
export function parseSlowness(text: string, backends: number): Parsed<Slowness> {
  return readSpell(text, backends, (spell, options): Slowness => {
    const [option, second] = options;
    const [, amount] = /^[x×](\d{1,6}(?:\.\d{1,6})?)$/i.exec(option ?? '') ?? [];
    if (amount === undefined || second !== undefined || Number(amount) === 0)
      throw new Complaint('needs one factor, like x10');
    return { ...spell, factor: Number(amount) };
  });
}

function readSpell<T>(
  text: string,
  backends: number,
  read: (spell: Spell, options: readonly string[]) => T,
): Parsed<T> {
  try {
    const [span = '', ...parts] = text.split(':').map((part) => part.trim());
    const [begin = '', end = '', ...more] = span.split('-').map((part) => part.trim());
    const shape = 'begin with its time, like 10s-20s';
    const [from, to] = [readTime(begin, shape), readTime(end, shape)];
    if (more.length > 0) throw new Complaint(shape);
    if (to <= from) throw new Complaint(`${quote(span)} ends before it begins`);
    const named = parts.filter((part) => part.startsWith('backend='));
    if (named.length > 1) throw new Complaint('one backend each; give the flag twice for two');
    const backend = named[0] === undefined ? null : readBackend(named[0].slice('backend='.length), backends);
    const options = parts.filter((part) => !part.startsWith('backend='));
    return { ok: true, value: read({ from, to, backend }, options) };
  } catch (error) {
    if (!(error instanceof Complaint)) throw error;
    return { ok: false, problem: error.message };
  }
}

function readBackend(name: string, backends: number): number {
  const [, number] = /^b(\d{1,4})$/i.exec(name) ?? [];
  const index = Number(number) - 1;
  if (number === undefined || index < 0 || index >= backends)
    throw new Complaint(`${quote(name)} is no backend; there ${backends === 1 ? 'is b1' : `are b1 to b${backends}`}`);
  return index;
}
