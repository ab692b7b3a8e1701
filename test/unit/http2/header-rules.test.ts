import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HeaderRules } from '../../../src/http2/header-rules.js';
import type { HeaderField } from '../../../src/http2/types.js';
import { requestLines, responseLines } from '../../support/frames.js';
import { fields } from '../../support/recorder.js';

describe('the verdict', () => {
  it('names what is wrong, the peer’s text quoted and cut', () => {
    const rules = new HeaderRules();
    expect(rules.request(fields([...requestLines, ['x', 'a\nb']]))).toBe(false);
    expect(rules.fault).toBe('a value with a character that is not permitted, in "x"');
    expect(rules.request(fields([['bad name', ''], ...requestLines]))).toBe(false);
    expect(rules.fault).toBe('a field name with a character that is not permitted: "bad name"');
    expect(rules.response(fields([[':status', '9'.repeat(100)]]))).toBe(false);
    expect(rules.fault).toBe(`:status is "${'9'.repeat(64)}…"`);
    expect(rules.request(fields([...requestLines, [':path', '/']]))).toBe(false);
    expect(rules.fault).toBe('":path" after or outside the pseudo-header fields\' place');
    expect(rules.request(fields(requestLines))).toBe(true);
    expect(rules.fault).toBe('');
  });

  it('has the status and the length', () => {
    const rules = new HeaderRules();
    expect(rules.response(fields([...responseLines, ['content-length', '42']]))).toBe(true);
    expect([rules.status, rules.contentLength]).toEqual([200, 42]);
    expect(rules.response(fields(responseLines))).toBe(true);
    expect(rules.contentLength).toBe(-1);
  });
});

describe('fields seen before (one object, as HPACK’s tables share it)', () => {
  it('a content-length counts each time', () => {
    const rules = new HeaderRules();
    const list = fields([...responseLines, ['content-length', '7'], ['content-length', '7']]);
    for (let i = 0; i < 3; i += 1) {
      expect(rules.response([...list])).toBe(true);
      expect(rules.contentLength).toBe(7);
    }
  });

  it('a value is stripped each time', () => {
    const rules = new HeaderRules();
    const shared = fields([['x', ' a ']])[0] as HeaderField;
    for (let i = 0; i < 3; i += 1) {
      const list = [...fields(requestLines), shared];
      expect(rules.request(list)).toBe(true);
      expect(list.at(-1)?.value).toBe('a');
    }
    expect(shared.value).toBe(' a ');
  });

  it('a pseudo-header field that was right in its place is wrong in trailers', () => {
    const rules = new HeaderRules();
    const request = fields(requestLines);
    expect(rules.request([...request])).toBe(true);
    expect(rules.trailers([request[0] as HeaderField])).toBe(false);
    expect(rules.request([...request, request[2] as HeaderField])).toBe(false);
    expect(rules.request([request[2] as HeaderField, ...request])).toBe(false);
  });

  it('a verdict does not depend on what was judged before', () => {
    const pool = fields([
      ...requestLines,
      ...responseLines,
      ['content-length', '5'],
      ['content-length', '6'],
      ['connection', 'x'],
      ['te', 'x'],
      ['x', ' y '],
      ['x', 'a\nb'],
      ['X', 'y'],
      [':path', ''],
    ]);
    const kinds = ['request', 'response', 'trailers'] as const;
    const anyList = fc.record({
      kind: fc.constantFrom(...kinds),
      list: fc.array(fc.constantFrom(...pool), { maxLength: 6 }),
    });
    fc.assert(
      fc.property(fc.array(anyList, { maxLength: 20 }), (lists) => {
        const old = new HeaderRules();
        for (const { kind, list } of lists) {
          const fresh = new HeaderRules();
          const [left, right] = [[...list], [...list]];
          expect(old[kind](left)).toBe(fresh[kind](right));
          expect([old.fault, old.status, old.contentLength, left]).toEqual([
            fresh.fault,
            fresh.status,
            fresh.contentLength,
            right,
          ]);
        }
      }),
      { numRuns: 500 },
    );
  });
});
