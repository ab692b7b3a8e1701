import type { TargetName } from './backend-id.js';
import type { MetadataField } from './metadata.js';

/** What a client asks of the proxy for one call, by the prefix's request keys (contract, Metadata). */
export interface Directives {
  /** That backend answers, or the call fails with that backend's own error. */
  readonly pin: TargetName | null;
  /** Sticky calls; validated, and without effect until sessions come. */
  readonly session: string | null;
  /** The pin or session holds for the first attempt only. */
  readonly allowRetry: boolean;
  /** Never these; unknown names among them mean nothing. */
  readonly exclude: readonly TargetName[];
  /** `off`: no policy attempts. */
  readonly retry: 'on' | 'off';
}

/** Of a call whose client asks for nothing: nearly all. */
export const noDirectives: Directives = {
  pin: null,
  session: null,
  allowRetry: false,
  exclude: [],
  retry: 'on',
};

/** What the prefix's keys of one request come to. */
export type DirectivesVerdict =
  | { readonly kind: 'valid'; readonly directives: Directives }
  /** `detail` names the key, what is wrong and what is right. It quotes no session: an id belongs in no answer and no log. */
  | { readonly kind: 'invalid'; readonly detail: string };

/** Of a pin, of a session, and of each name of an exclude, in bytes. */
const maxBytes = 256;
const maxExcluded = 64;

/**
 * Reads the keys that have the prefix (contract, Metadata). The first problem in the order of the lines is the one told; keys
 * that mean nothing are passed over.
 *
 * @param lines those of one request whose names begin with `prefix`; one character of a value is one byte
 * @param prefix with its dash
 */
export function readDirectives(lines: readonly MetadataField[], prefix: string): DirectivesVerdict {
  let pin: TargetName | null = null;
  let session: string | null = null;
  let exclude: readonly TargetName[] | null = null;
  let allowRetry: boolean | null = null;
  let retryOff: boolean | null = null;

  for (const { name: key, value } of lines) {
    switch (key.slice(prefix.length)) {
      case 'pin': {
        if (pin !== null) return repeated(key);
        const text = trimmed(value);
        const wrong = problemOf(text, 'the name of one backend');
        if (wrong !== null) return invalid(key, wrong);
        pin = text.toLowerCase();
        break;
      }
      case 'session': {
        if (session !== null) return repeated(key);
        session = trimmed(value);
        const wrong = problemOf(session, 'an id');
        if (wrong !== null) return invalid(key, wrong);
        break;
      }
      case 'exclude': {
        if (exclude !== null) return repeated(key);
        const read = readNames(value);
        if (typeof read === 'string') return invalid(key, read);
        exclude = read;
        break;
      }
      // These two fail no call: repeated or odd, they are as absent (decisions 1.1).
      case 'allow-retry':
        allowRetry = allowRetry === null && says(value, 'true');
        break;
      case 'retry':
        retryOff = retryOff === null && says(value, 'off');
        break;
      case 'pin-bin':
      case 'session-bin':
      case 'exclude-bin':
        return invalid(key, `is no key of this proxy: send ${key.slice(0, -'-bin'.length)}, as text`);
    }
  }

  const detail = conflict(pin, exclude ?? [], prefix);
  if (detail !== null) return { kind: 'invalid', detail };
  if (pin === null && session === null && exclude === null && allowRetry !== true && retryOff !== true)
    return ofNothing;
  return {
    kind: 'valid',
    directives: {
      pin,
      session,
      allowRetry: allowRetry ?? false,
      exclude: exclude ?? noDirectives.exclude,
      retry: retryOff === true ? 'off' : 'on',
    },
  };
}

const ofNothing: DirectivesVerdict = { kind: 'valid', directives: noDirectives };

/** The names of a comma list in lower case, each once; or what is wrong with it. */
function readNames(value: string): readonly TargetName[] | string {
  const list = trimmed(value);
  if (list === '') return 'is empty: it must be the names of 1 to 64 backends, separated by commas';
  const names = new Set<TargetName>();
  for (const [at, item] of list.split(',').entries()) {
    const name = trimmed(item);
    const wrong = problemOf(name, 'the name of a backend');
    if (wrong !== null) return `has a name, number ${at + 1}, that ${wrong}`;
    names.add(name.toLowerCase());
  }
  if (names.size > maxExcluded) return `has ${names.size} names: it must have at most ${maxExcluded}`;
  return [...names];
}

/** D3: one cannot ask for a backend and exclude it, by its own name or by its group's. Excluding a member of a pinned group is fine. */
function conflict(pin: TargetName | null, exclude: readonly TargetName[], prefix: string): string | null {
  if (pin === null) return null;
  const advice = `take it from one of the two`;
  if (exclude.includes(pin)) return `${prefix}pin and ${prefix}exclude both name ${JSON.stringify(pin)}: ${advice}`;
  const slash = pin.indexOf('/');
  if (slash < 0 || !exclude.includes(pin.slice(0, slash))) return null;
  const group = JSON.stringify(pin.slice(0, slash));
  return `${prefix}pin names ${JSON.stringify(pin)}, and ${prefix}exclude its group ${group}: ${advice}`;
}

/** What is wrong with a value whose surrounding blanks are cut; null: nothing. Quotes none of it. */
function problemOf(text: string, what: string): string | null {
  if (text === '') return `is empty: it must be ${what}`;
  if (text.length > maxBytes) return `is ${text.length} bytes long: it must be ${what}, at most ${maxBytes} bytes`;
  for (let at = 0; at < text.length; at += 1) {
    const byte = text.charCodeAt(at);
    if (byte < 0x20 || byte > 0x7e)
      return `holds byte 0x${byte.toString(16).padStart(2, '0')}: it must be ${what} in printable ASCII`;
  }
  return null;
}

function says(value: string, word: string): boolean {
  return trimmed(value).toLowerCase() === word;
}

/** Without the spaces and tabs around it, and those alone: `trim` takes byte 0xa0 too. */
function trimmed(value: string): string {
  let from = 0;
  let to = value.length;
  while (from < to && isBlank(value.charCodeAt(from))) from += 1;
  while (to > from && isBlank(value.charCodeAt(to - 1))) to -= 1;
  return value.slice(from, to);
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x09;
}

function repeated(key: string): DirectivesVerdict {
  return invalid(key, 'is sent more than once: send it once');
}

function invalid(key: string, wrong: string): DirectivesVerdict {
  return { kind: 'invalid', detail: `${key} ${wrong}` };
}
