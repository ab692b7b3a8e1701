import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Directives, type DirectivesVerdict, noDirectives, readDirectives } from '../../../src/grpc/directives.js';
import { lines } from './lines.js';

type Pair = readonly [string, string];

function read(...pairs: Pair[]): DirectivesVerdict {
  return readDirectives(lines(pairs.map(([key, value]): Pair => [`hedgerow-${key}`, value])), 'hedgerow-');
}

function valid(...pairs: Pair[]): Directives {
  const verdict = read(...pairs);
  if (verdict.kind !== 'valid') throw new Error(verdict.detail);
  return verdict.directives;
}

function problem(...pairs: Pair[]): string {
  const verdict = read(...pairs);
  if (verdict.kind !== 'invalid') throw new Error(`valid: ${JSON.stringify(verdict.directives)}`);
  return verdict.detail;
}

/** The keys that fail a call where their value is bad. */
const strictKeys = ['pin', 'session', 'exclude'] as const;

describe('the keys of the prefix', () => {
  it('are read each on its own', () => {
    expect(valid(['pin', 'a'])).toEqual({ ...noDirectives, pin: 'a' });
    expect(valid(['session', 's 1'])).toEqual({ ...noDirectives, session: 's 1' });
    expect(valid(['exclude', 'a,b'])).toEqual({ ...noDirectives, exclude: ['a', 'b'] });
    expect(valid(['allow-retry', 'true'])).toEqual({ ...noDirectives, allowRetry: true });
    expect(valid(['retry', 'off'])).toEqual({ ...noDirectives, retry: 'off' });
  });

  it('are read together, in any order', () => {
    const all: Pair[] = [
      ['pin', 'a'],
      ['session', 's'],
      ['exclude', 'b'],
      ['allow-retry', 'true'],
      ['retry', 'off'],
    ];
    const expected = { pin: 'a', session: 's', exclude: ['b'], allowRetry: true, retry: 'off' };
    expect(valid(...all)).toEqual(expected);
    expect(valid(...all.reverse())).toEqual(expected);
  });

  it('that mean nothing are passed over, and what they come to is the shared object', () => {
    const nothing: Pair[] = [
      ['', 'x'],
      ['unknown', ''],
      ['pin-', ''],
      ['pins', ''],
      ['pin-bin-bin', ''],
      ['unknown-bin', '\xff'],
      ['allow-retry-bin', 'dHJ1ZQ'],
      ['retry-bin', 'b2Zm'],
      ['backend', 'forged'],
    ];
    const verdict = read(...nothing, ...nothing);
    expect(verdict.kind === 'valid' && verdict.directives).toBe(noDirectives);
    expect(valid(['retry', 'on'], ['allow-retry', 'false'])).toBe(noDirectives);
    expect(valid()).toBe(noDirectives);
  });

  it('are told by the prefix in force, in messages too', () => {
    const verdict = readDirectives(lines([['edge-pin', '']]), 'edge-');
    expect(verdict).toEqual({ kind: 'invalid', detail: 'edge-pin is empty: it must be the name of one backend' });
  });
});

describe('names', () => {
  it('PIN-02: are compared in lower case: a pin, a member, each of an exclude', () => {
    expect(valid(['pin', 'Backend-A']).pin).toBe('backend-a');
    expect(valid(['pin', 'G/[FE80::1]:80']).pin).toBe('g/[fe80::1]:80');
    expect(valid(['exclude', 'A,b,G/1.2.3.4:5']).exclude).toEqual(['a', 'b', 'g/1.2.3.4:5']);
  });

  it('a session is an id, not a name: its case stays', () => {
    expect(valid(['session', 'AbC']).session).toBe('AbC');
  });

  it('PIN-23: blanks around a value and around the names of a list are cut, those inside stay', () => {
    expect(valid(['pin', '  a\t']).pin).toBe('a');
    expect(valid(['session', ' a b ']).session).toBe('a b');
    expect(valid(['exclude', ' a , b\t,c ']).exclude).toEqual(['a', 'b', 'c']);
    expect(valid(['allow-retry', ' true ']).allowRetry).toBe(true);
    expect(valid(['retry', '\toff']).retry).toBe('off');
  });

  it('PIN-22: a name that an exclude says twice counts once, in any case', () => {
    expect(valid(['exclude', 'a,b, A,a']).exclude).toEqual(['a', 'b']);
    const folded = Array.from({ length: 200 }, (_, at) => `n${at % 64}`).join(',');
    expect(valid(['exclude', folded]).exclude).toHaveLength(64);
  });
});

describe('the keys that fail no call', () => {
  it.each([['true'], ['TRUE'], ['tRuE'], [' true ']])('PIN-07: hedgerow-allow-retry: %j counts', (value) => {
    expect(valid(['pin', 'a'], ['allow-retry', value])).toEqual({ ...noDirectives, pin: 'a', allowRetry: true });
  });

  it.each([
    ['false'],
    ['1'],
    ['yes'],
    [''],
    ['true,true'],
    ['truee'],
    ['tru'],
    ['"true"'],
    ['\xa0true'],
    ['\xff'],
    ['x'.repeat(300)],
  ])('PIN-08: hedgerow-allow-retry: %j counts for nothing', (value) => {
    expect(valid(['pin', 'a'], ['allow-retry', value])).toEqual({ ...noDirectives, pin: 'a' });
  });

  it.each([[['true', 'true']], [['true', 'false']], [['false', 'true']], [['true', 'true', 'true']]])(
    'PIN-08: hedgerow-allow-retry sent more than once, %j, counts for nothing',
    (values) => {
      expect(valid(...values.map((value): Pair => ['allow-retry', value])).allowRetry).toBe(false);
    },
  );

  it('PIN-09: hedgerow-allow-retry alone asks for no backend', () => {
    expect(valid(['allow-retry', 'true'])).toMatchObject({ pin: null, session: null, exclude: [], retry: 'on' });
  });

  it.each([['on'], ['OFFF'], ['of'], [''], ['false'], ['0'], ['off,off'], ['\xa0off'], ['\xff']])(
    'PIN-37: hedgerow-retry: %j means nothing',
    (value) => {
      expect(valid(['retry', value])).toBe(noDirectives);
    },
  );

  it('PIN-37: hedgerow-retry sent twice means nothing; in any case, once, it does', () => {
    expect(valid(['retry', 'off'], ['retry', 'off']).retry).toBe('on');
    expect(valid(['retry', 'on'], ['retry', 'off']).retry).toBe('on');
    expect(valid(['retry', 'off'], ['retry', 'off'], ['retry', 'off']).retry).toBe('on');
    for (const value of ['off', 'OFF', 'Off']) expect(valid(['retry', value]).retry).toBe('off');
  });
});

describe('a value that is refused', () => {
  it.each(strictKeys)('PIN-17: hedgerow-%s sent twice, equal or not', (key) => {
    for (const second of ['a', 'b', ''])
      expect(problem([key, 'a'], [key, second])).toBe(`hedgerow-${key} is sent more than once: send it once`);
  });

  it.each([
    ['pin', 'hedgerow-pin is empty: it must be the name of one backend'],
    ['session', 'hedgerow-session is empty: it must be an id'],
    ['exclude', 'hedgerow-exclude is empty: it must be the names of 1 to 64 backends, separated by commas'],
  ])('PIN-18: hedgerow-%s is empty, or blank', (key, detail) => {
    for (const value of ['', ' ', ' \t ']) expect(problem([key, value])).toBe(detail);
  });

  it.each(strictKeys)('PIN-19: hedgerow-%s over 256 bytes; 256 are fine, blanks around them not counted', (key) => {
    expect(read([key, ` ${'x'.repeat(256)} `]).kind).toBe('valid');
    expect(problem([key, 'x'.repeat(257)])).toContain('is 257 bytes long');
    expect(problem([key, 'x'.repeat(257)])).toContain('at most 256 bytes');
  });

  it.each(strictKeys)('PIN-20: hedgerow-%s with a byte outside 0x20 to 0x7e', (key) => {
    expect(read([key, 'a !~b']).kind).toBe('valid');
    for (const byte of [0x00, 0x09, 0x0a, 0x1f, 0x7f, 0x80, 0xa0, 0xc3, 0xff]) {
      const hex = `byte 0x${byte.toString(16).padStart(2, '0')}`;
      expect(problem([key, `a${String.fromCharCode(byte)}b`])).toContain(hex);
    }
    for (const edge of ['\xa0a', 'a\x7f', '\x00']) expect(read([key, edge]).kind).toBe('invalid');
  });

  it.each(strictKeys)('PIN-21: hedgerow-%s-bin, whatever it holds, naming the key to send', (key) => {
    for (const value of ['YQ', 'a', ''])
      expect(problem([`${key}-bin`, value])).toBe(
        `hedgerow-${key}-bin is no key of this proxy: send hedgerow-${key}, as text`,
      );
  });

  it.each([
    [',a', 1],
    ['a,', 2],
    ['a,,b', 2],
    ['a, ,b', 2],
    [',', 1],
  ])('PIN-22: hedgerow-exclude: %j has an empty item, number %d', (value, item) => {
    expect(problem(['exclude', value])).toBe(
      `hedgerow-exclude has a name, number ${item}, that is empty: it must be the name of a backend`,
    );
  });

  it('PIN-22: an exclude of 65 names; 64 are fine', () => {
    const names = Array.from({ length: 65 }, (_, at) => `backend-${at}`);
    expect(valid(['exclude', names.slice(1).join(',')]).exclude).toEqual(names.slice(1));
    expect(problem(['exclude', names.join(',')])).toBe('hedgerow-exclude has 65 names: it must have at most 64');
  });

  it('PIN-19: of an exclude each name may have 256 bytes, however long the list', () => {
    const long = ['a', 'b', 'c'].map((letter) => letter.repeat(256));
    expect(valid(['exclude', long.join(',')]).exclude).toEqual(long);
    expect(problem(['exclude', `${long.join(',')},${'d'.repeat(257)}`])).toContain(
      'has a name, number 4, that is 257 bytes long',
    );
  });

  it('is refused beside good ones, and the first of several is told', () => {
    expect(problem(['pin', 'a'], ['retry', 'off'], ['session', ''])).toContain('hedgerow-session');
    expect(problem(['session', ''], ['pin', ''])).toContain('hedgerow-session');
    expect(problem(['pin', ''], ['session', ''])).toContain('hedgerow-pin');
  });

  it('a session’s text never stands in a message', () => {
    for (const value of ['secret-id\x01', 'secret-id'.repeat(40)])
      expect(problem(['session', value])).not.toContain('secret-id');
    expect(problem(['session', 'secret-id'], ['session', 'secret-id'])).not.toContain('secret-id');
  });
});

describe('PIN-24: a pin that is excluded', () => {
  it('by its own name, in any case', () => {
    const detail = 'hedgerow-pin and hedgerow-exclude both name "a": take it from one of the two';
    expect(problem(['pin', 'a'], ['exclude', 'b,a'])).toBe(detail);
    expect(problem(['exclude', 'A'], ['pin', 'a'])).toBe(detail);
    expect(problem(['pin', 'A'], ['exclude', 'a'], ['allow-retry', 'true'])).toBe(detail);
    expect(problem(['pin', 'g/1.2.3.4:5'], ['exclude', 'g/1.2.3.4:5'])).toContain('both name "g/1.2.3.4:5"');
  });

  it('by the group of the pinned member', () => {
    expect(problem(['pin', 'g/1.2.3.4:5'], ['exclude', 'b,G'])).toBe(
      'hedgerow-pin names "g/1.2.3.4:5", and hedgerow-exclude its group "g": take it from one of the two',
    );
  });

  it('and not where another is, though its name looks alike', () => {
    for (const exclude of ['b', 'aa', 'a/1.2.3.4:5', 'a-1'])
      expect(valid(['pin', 'a'], ['exclude', exclude]).pin).toBe('a');
    expect(valid(['pin', 'ab'], ['exclude', 'a,b']).pin).toBe('ab');
    for (const exclude of ['g/1.2.3.4:6', 'g/', 'gg', 'g/1'])
      expect(valid(['pin', 'g/1.2.3.4:5'], ['exclude', exclude]).pin).toBe('g/1.2.3.4:5');
  });
});

it('PIN-25: an exclude may have a member of the pinned group', () => {
  expect(valid(['pin', 'g'], ['exclude', 'g/1.2.3.4:5'])).toMatchObject({ pin: 'g', exclude: ['g/1.2.3.4:5'] });
});

describe('for all lines of the prefix', () => {
  const key = fc.constantFrom('pin', 'session', 'exclude', 'allow-retry', 'retry', 'pin-bin', 'other', '');
  const byte = fc.oneof(
    fc.constantFrom('a', 'B', '/', ',', ' ', '\t'),
    fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)),
  );
  const value = fc.oneof(
    fc.constantFrom('a', 'A', 'b', 'true', 'off', 'a,b', 'g/1', 'g'),
    fc.array(byte, { maxLength: 8 }).map((some) => some.join('')),
  );

  it('nothing throws, and what is valid is well formed', () => {
    const printable = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;
    fc.assert(
      fc.property(fc.array(fc.tuple(key, value), { maxLength: 6 }), (pairs) => {
        const verdict = read(...pairs);
        if (verdict.kind === 'invalid') {
          expect(verdict.detail).toMatch(/^hedgerow-(?:pin|session|exclude)/);
          return;
        }
        const { pin, session, exclude } = verdict.directives;
        for (const text of [pin ?? 'x', session ?? 'x', ...exclude]) expect(text).toMatch(printable);
        for (const name of [pin ?? '', ...exclude]) expect(name).toBe(name.toLowerCase());
        expect(new Set(exclude).size).toBe(exclude.length);
        if (pin !== null) expect(exclude).not.toContain(pin);
      }),
    );
  });

  it('a call fails for nothing but a pin, a session or an exclude', () => {
    const harmless = fc.constantFrom('allow-retry', 'retry', 'other', 'retry-bin', '');
    fc.assert(
      fc.property(fc.array(fc.tuple(harmless, value), { maxLength: 6 }), (pairs) => {
        expect(valid(...pairs)).toMatchObject({ pin: null, session: null, exclude: [] });
      }),
    );
  });
});
