import { nearest } from '../config/nearest.js';
import type { Parsed } from '../config/parsed.js';
import { quote } from '../config/quote.js';
import { judgeStreamEnd, unplacedEnd } from '../grpc/attempt-end.js';
import type { AttemptEnd } from '../grpc/attempt-facts.js';
import type { Millis } from '../grpc/millis.js';
import { Status, type StatusCode } from '../grpc/status.js';
import { Complaint, readCode, readTime } from './grammar.js';
import { type Outcome, silence } from './run-call.js';
import { statusEnd } from './status-end.js';

/** What attempts meet, by the order of their starts, and what the client does. */
export interface Script {
  readonly outcomes: readonly Outcome[];
  /** From the call's start; null: it does not cancel. */
  readonly cancelAt: Millis | null;
}

/** How an attempt may end other than by a status of the backend's. */
const fates = {
  refused: () => judgeStreamEnd({ kind: 'reset', code: 0x7 }),
  lost: () => judgeStreamEnd({ kind: 'lost', flushed: true, detail: 'as the script says' }),
  unsent: () => judgeStreamEnd({ kind: 'lost', flushed: false, detail: 'as the script says' }),
  unplaced: () => unplacedEnd('no backend, as the script says'),
} as const satisfies Record<string, () => AttemptEnd>;

type Fate = keyof typeof fates;

const fateNames = Object.keys(fates) as readonly Fate[];
const words: readonly string[] = [...Object.keys(Status), ...fateNames, 'silent', 'cancel'];
const optionNames: readonly string[] = ['pushback', 'headers', ...fateNames];

/**
 * Reads `14@10ms,UNAVAILABLE@5ms:pushback=50,0@20ms:headers=5ms,cancel@1s`; the grammar is in docs/command-line.md. The
 * ends are judged by the table that judges the wire (grpc/attempt-end.ts).
 *
 * @returns what is wrong, with the item and where it begins
 */
export function parseScript(text: string): Parsed<Script> {
  const outcomes: Outcome[] = [];
  let cancelAt: Millis | null = null;
  let offset = 0;
  for (const raw of text.split(',')) {
    const item = raw.trim();
    try {
      if (item === '') throw new Complaint('an outcome is missing');
      if (cancelAt !== null) throw new Complaint('cancel is the last item: nothing follows it');
      const cancel = /^cancel(@.*)?$/i.exec(item);
      if (cancel === null) outcomes.push(readOutcome(item));
      else cancelAt = readTime((cancel[1] ?? '').slice(1), 'cancel@TIME needs the time since the call began');
    } catch (error) {
      if (!(error instanceof Complaint)) throw error;
      const at = offset + raw.length - raw.trimStart().length + 1;
      return { ok: false, problem: `at character ${at}${item === '' ? '' : `, ${quote(item)}`}: ${error.message}` };
    }
    offset += raw.length + 1;
  }
  return { ok: true, value: { outcomes, cancelAt } };
}

interface Options {
  readonly pushbacks: readonly string[];
  readonly headersAt: Millis | null;
  readonly fate: Fate | null;
}

function readOutcome(item: string): Outcome {
  const [head = '', ...tail] = item.split(':');
  const [what = '', time, ...more] = head.split('@');
  const options = readOptions(tail);
  if (/^silent$/i.test(what)) {
    if (time !== undefined) throw new Complaint('silent never ends: leave its time out');
    if (options.fate !== null || options.pushbacks.length > 0)
      throw new Complaint('silent never ends: headers=TIME is its only option');
    return { ...silence, headersAt: options.headersAt };
  }
  if (more.length > 0) throw new Complaint('one "@TIME" an outcome');
  const named = fateNames.find((name) => name === what.toLowerCase()) ?? null;
  const code = named === null ? readCode(what, words) : Status.UNAVAILABLE;
  const at = readTime(time ?? '', `${what}@TIME needs the time since the attempt's start`);
  if (options.headersAt !== null && options.headersAt > at) throw new Complaint('its headers come after its end');
  if (named !== null && options.fate !== null) throw new Complaint(`${named} and ${options.fate}: one of them`);
  const fate = named ?? options.fate;
  return {
    backend: null,
    headersAt: options.headersAt,
    end: {
      at,
      how:
        fate === null ? statusEnd(code, options.pushbacks, options.headersAt === null) : fateEnd(fate, code, options),
    },
  };
}

function readOptions(texts: readonly string[]): Options {
  const pushbacks: string[] = [];
  let headersAt: Millis | null = null;
  let fate: Fate | null = null;
  for (const text of texts) {
    const [, name = '', , value] = /^([^=@]*)([=@](.*))?$/s.exec(text) ?? [];
    const known = optionNames.find((option) => option === name.toLowerCase());
    if (known === undefined) {
      const near = nearest(name, optionNames);
      const hint = near === null ? `options are ${optionNames.join(', ')}` : `did you mean ${near}?`;
      throw new Complaint(`unknown option ${quote(name)}; ${hint}`);
    }
    const other = fateNames.find((option) => option === known);
    if (other !== undefined) {
      if (value !== undefined) throw new Complaint(`${other} takes no value`);
      if (fate !== null && fate !== other) throw new Complaint(`${fate} and ${other}: one of them`);
      fate = other;
    } else if (known === 'headers') {
      if (headersAt !== null) throw new Complaint('headers come once');
      headersAt = readTime(value ?? '', "headers=TIME needs the time since the attempt's start");
    } else if (value === undefined) throw new Complaint('pushback=VALUE needs the text of the trailer');
    else pushbacks.push(value);
  }
  return { pushbacks, headersAt, fate };
}

function fateEnd(fate: Fate, code: StatusCode, { pushbacks, headersAt }: Options): AttemptEnd {
  if (code !== Status.UNAVAILABLE) throw new Complaint(`what is ${fate} ends UNAVAILABLE: write ${fate}@TIME`);
  if (pushbacks.length > 0) throw new Complaint(`what is ${fate} has no trailers, so no pushback`);
  if (headersAt !== null && fate !== 'lost') throw new Complaint(`what is ${fate} has no headers`);
  return fates[fate]();
}
