import { describe, expect, it } from 'vitest';
import {
  judgeHeaders,
  judgeMissingTrailers,
  judgeStreamEnd,
  judgeTrailers,
  unplacedEnd,
} from '../../../src/grpc/attempt-end.js';
import { decodeMessage } from '../../../src/grpc/percent.js';
import { statusName } from '../../../src/grpc/status.js';
import { lines, pairs } from './lines.js';

type Pair = readonly [string, string];

const grpc: Pair[] = [
  [':status', '200'],
  ['content-type', 'application/grpc'],
];

/** The verdict on a header block that is an end; fails where it is not. */
function ended(fields: readonly Pair[], endStream = true) {
  const verdict = judgeHeaders(lines(fields), endStream);
  if (verdict.kind !== 'end') throw new Error('not an end');
  return { ...verdict, code: statusName(verdict.end.code), text: decodeMessage(verdict.end.message) };
}

/** Of every end that a backend stated. */
const sign = { kind: 'stated' };

describe('response headers', () => {
  it('are initial metadata where gRPC’s headers do not end the stream', () => {
    for (const type of ['application/grpc', 'application/grpc+proto', 'Application/gRPC;v=1'])
      expect(
        judgeHeaders(
          lines([
            [':status', '200'],
            ['content-type', type],
            ['x', '1'],
          ]),
          false,
        ),
      ).toEqual({ kind: 'initial' });
  });

  it('are initial metadata even with a grpc-status in them, as long as the stream goes on', () => {
    expect(judgeHeaders(lines([...grpc, ['grpc-status', '14']]), false)).toEqual({ kind: 'initial' });
  });

  it('SM-03: END_STREAM with a grpc-status is Trailers-Only, to pass on as it is', () => {
    const fields = lines([...grpc, ['grpc-status', '3'], ['grpc-message', 'bad %25 input'], ['x', '1']]);
    expect(judgeHeaders(fields, true)).toEqual({
      kind: 'end',
      end: { code: 3, message: 'bad %25 input', reach: 'processed', pushback: { kind: 'none' }, by: 'backend', sign },
      trailers: fields,
    });
    const verdict = judgeHeaders(fields, true);
    expect(verdict.kind === 'end' && verdict.trailers).toBe(fields);
  });

  it('SM-15: Trailers-Only OK is OK', () => {
    const { end, trailers } = ended([...grpc, ['grpc-status', '0']]);
    expect(end).toEqual({
      code: 0,
      message: '',
      reach: 'processed',
      pushback: { kind: 'none' },
      by: 'backend',
      sign,
    });
    expect(trailers).toHaveLength(3);
  });

  it('SM-14: a number outside the set is kept, and passes', () => {
    const { end, trailers } = ended([...grpc, ['grpc-status', '300']]);
    expect(end.code).toBe(300);
    expect(pairs(trailers ?? [])).toContainEqual(['grpc-status', '300']);
    expect(ended([...grpc, ['grpc-status', '19']]).end.code).toBe(19);
    expect(ended([...grpc, ['grpc-status', '2147483647']]).end.code).toBe(2_147_483_647);
    expect(ended([...grpc, ['grpc-status', '9999999999']]).end.code).toBe(9_999_999_999);
  });

  it('SM-39: a grpc-status that is not a number is UNKNOWN, and passes', () => {
    for (const value of ['abc', '', '-1', '+1', '1.5', ' 1', '1/', '1:', '99999999999']) {
      const verdict = ended([...grpc, ['grpc-status', value]]);
      expect(verdict.code).toBe('UNKNOWN');
      expect(verdict.text).toContain(`grpc-status ${JSON.stringify(value)}`);
      expect(verdict.trailers).not.toBeNull();
      expect(verdict.end).toMatchObject({ reach: 'processed', by: 'backend' });
    }
  });

  it('two different grpc-status lines are UNKNOWN, two equal ones one', () => {
    const two = ended([...grpc, ['grpc-status', '0'], ['grpc-status', '14']]);
    expect([two.code, two.text]).toEqual(['UNKNOWN', 'the backend sent more than one grpc-status']);
    expect(ended([...grpc, ['grpc-status', '14'], ['grpc-status', '14']]).code).toBe('UNAVAILABLE');
    expect(ended([...grpc, ['grpc-status', '14'], ['grpc-status', '0']]).code).toBe('UNKNOWN');
  });

  it('SM-09: END_STREAM without a grpc-status is UNKNOWN that says so, and ours to answer', () => {
    const verdict = ended(grpc);
    expect(verdict.code).toBe('UNKNOWN');
    expect(verdict.text).toBe('the backend answered HTTP 200 with content-type "application/grpc" and no grpc-status');
    expect(verdict.trailers).toBeNull();
    expect(verdict.end).toMatchObject({ reach: 'processed', by: 'backend' });
  });

  it('SM-10: an HTTP status with END_STREAM is mapped', () => {
    const verdict = ended([[':status', '503']]);
    expect([verdict.code, verdict.text]).toEqual([
      'UNAVAILABLE',
      'the backend answered HTTP 503 with no content-type and no grpc-status',
    ]);
    expect(verdict.trailers).toBeNull();
    expect(ended([[':status', '404']]).code).toBe('UNIMPLEMENTED');
  });

  it('SM-11: an HTTP error with a body is a header-less failure that names status and content-type', () => {
    const verdict = ended(
      [
        [':status', '503'],
        ['content-type', 'text/html; charset=utf-8'],
      ],
      false,
    );
    expect([verdict.code, verdict.text]).toEqual([
      'UNAVAILABLE',
      'the backend answered HTTP 503 with content-type "text/html; charset=utf-8" and no grpc-status',
    ]);
    expect(verdict.trailers).toBeNull();
  });

  it('SM-11: HTTP 200 with another content-type, or none, is UNKNOWN and no headers', () => {
    const html = ended(
      [
        [':status', '200'],
        ['content-type', 'text/html'],
      ],
      false,
    );
    expect(html.code).toBe('UNKNOWN');
    expect(html.text).toContain('content-type "text/html"');
    expect(ended([[':status', '200']], false).code).toBe('UNKNOWN');
  });

  it('SM-11: an HTTP error in gRPC’s content-type that goes on is a failure too', () => {
    const fields: Pair[] = [
      [':status', '502'],
      ['content-type', 'application/grpc'],
    ];
    expect(ended(fields, false).code).toBe('UNAVAILABLE');
  });

  it('a grpc-status on an HTTP error counts, and goes to the client as Trailers-Only', () => {
    for (const endStream of [true, false]) {
      const verdict = ended(
        [
          [':status', '503'],
          ['server', 'x'],
          ['content-type', 'text/html'],
          ['content-length', '12'],
          ['grpc-status', '8'],
          ['grpc-message', 'quota'],
        ],
        endStream,
      );
      expect([verdict.code, verdict.text]).toEqual(['RESOURCE_EXHAUSTED', 'quota']);
      expect(pairs(verdict.trailers ?? [])).toEqual([
        [':status', '200'],
        ['content-type', 'application/grpc'],
        ['server', 'x'],
        ['grpc-status', '8'],
        ['grpc-message', 'quota'],
      ]);
    }
  });

  it('an OK on an HTTP error is believed only where nothing follows', () => {
    const fields: Pair[] = [
      [':status', '503'],
      ['grpc-status', '0'],
    ];
    expect(ended(fields, true).code).toBe('OK');
    const goesOn = ended(fields, false);
    expect([goesOn.code, goesOn.text, goesOn.trailers]).toEqual([
      'UNAVAILABLE',
      'the backend answered HTTP 503 with no content-type',
      null,
    ]);
  });

  it('Trailers-Only without a content-type passes as it is', () => {
    const fields: Pair[] = [
      [':status', '200'],
      ['grpc-status', '5'],
    ];
    const verdict = ended(fields);
    expect(verdict.code).toBe('NOT_FOUND');
    expect(pairs(verdict.trailers ?? [])).toEqual(fields);
  });

  it('pushback is read wherever an answer ends', () => {
    const pushback: Pair = ['grpc-retry-pushback-ms', '20'];
    const after = { kind: 'after', ms: 20 };
    expect(ended([...grpc, ['grpc-status', '14'], pushback]).end.pushback).toEqual(after);
    expect(ended([...grpc, ['grpc-status', '0'], pushback]).end.pushback).toEqual(after);
    expect(ended([...grpc, ['grpc-status', 'x'], pushback]).end.pushback).toEqual(after);
    expect(ended([[':status', '503'], pushback]).end.pushback).toEqual(after);
    expect(ended([[':status', '503'], ['grpc-status', '0'], pushback], false).end.pushback).toEqual(after);
    expect(ended([...grpc, ['grpc-status', '14'], pushback, pushback]).end.pushback).toEqual({ kind: 'never' });
  });

  it('a text of the backend’s in our words is cut and safe on the wire', () => {
    const verdict = ended([
      [':status', '200'],
      ['content-type', `text/\xe9%41${'x'.repeat(500)}`],
    ]);
    expect(verdict.end.message).toMatch(/^[\x20-\x7e]{1,260}$/);
    expect(verdict.text).toContain('text/é%41xxx');
  });

  it('of a text of the backend’s 64 characters are shown, of a longer one these and that more followed', () => {
    const told = (type: string) =>
      ended([
        [':status', '503'],
        ['content-type', type],
      ]).text;
    expect(told('x'.repeat(64))).toContain(` content-type "${'x'.repeat(64)}" `);
    expect(told('x'.repeat(65))).toContain(` content-type "${'x'.repeat(64)}..." `);
  });
});

describe('trailers', () => {
  it('SM-07: say how the call ended', () => {
    expect(
      judgeTrailers(
        lines([
          ['grpc-status', '14'],
          ['grpc-message', 'gone%21'],
        ]),
      ),
    ).toEqual({ code: 14, message: 'gone%21', reach: 'processed', pushback: { kind: 'none' }, by: 'backend', sign });
  });

  it('names that only look like gRPC’s say nothing', () => {
    const end = judgeTrailers(
      lines([
        ['grpc-statut', '14'],
        ['grpc-messagf', 'x'],
        ['grpc-retry-pushback-mt', '5'],
        ['grpc-status', '5'],
      ]),
    );
    expect(end).toEqual({ code: 5, message: '', reach: 'processed', pushback: { kind: 'none' }, by: 'backend', sign });
  });

  it('SM-42: an OK is OK with a message and a pushback too', () => {
    expect(judgeTrailers(lines([['grpc-status', '0']])).code).toBe(0);
    expect(
      judgeTrailers(
        lines([
          ['grpc-status', '0'],
          ['grpc-message', 'fine'],
          ['grpc-retry-pushback-ms', '5'],
        ]),
      ),
    ).toEqual({
      code: 0,
      message: 'fine',
      reach: 'processed',
      pushback: { kind: 'after', ms: 5 },
      by: 'backend',
      sign,
    });
    expect(
      judgeTrailers(
        lines([
          ['grpc-status', '0'],
          ['grpc-message', 'fine'],
        ]),
      ).message,
    ).toBe('fine');
    expect(judgeTrailers(lines([['grpc-status', '00']])).code).toBe(0);
  });

  it('a plain OK, the commonest end, is one value for good', () => {
    const end = judgeTrailers(lines([['grpc-status', '0']]));
    expect(end).toEqual({ code: 0, message: '', reach: 'processed', pushback: { kind: 'none' }, by: 'backend', sign });
    expect(
      judgeTrailers(
        lines([
          ['x', '1'],
          ['grpc-status', '0'],
          ['grpc-message', ''],
        ]),
      ),
    ).toBe(end);
  });

  it('without a grpc-status are UNKNOWN that says so', () => {
    const end = judgeTrailers(
      lines([
        ['x', '1'],
        ['grpc-statut', '0'],
        ['grpc-messagf', 'x'],
        ['grpc-retry-pushback-mt', '5'],
        ['grpc-retry-pushback-ms', '-1'],
      ]),
    );
    expect([statusName(end.code), decodeMessage(end.message)]).toEqual([
      'UNKNOWN',
      'the backend ended with trailers that have no grpc-status',
    ]);
    expect(end).toMatchObject({ reach: 'processed', by: 'backend', pushback: { kind: 'never' } });
  });

  it('that never came are INTERNAL', () => {
    const end = judgeMissingTrailers();
    expect([statusName(end.code), end.reach, end.by]).toEqual(['INTERNAL', 'processed', 'backend']);
    expect(end.message).toBe('the backend ended its answer without trailers');
  });
});

describe('a stream that ended otherwise', () => {
  it.each([
    [0x0, 'INTERNAL'],
    [0x2, 'INTERNAL'],
    [0x8, 'CANCELLED'],
    [0xb, 'RESOURCE_EXHAUSTED'],
    [0xc, 'PERMISSION_DENIED'],
    [0xd, 'UNAVAILABLE'],
  ])('SM-12: reset with %d is %s, and may have been processed', (code, name) => {
    const end = judgeStreamEnd({ kind: 'reset', code });
    expect([statusName(end.code), end.reach, end.by]).toEqual([name, 'processed', 'backend']);
    expect(end.message).toContain('reset the stream with ');
  });

  it('SM-22: refused is UNAVAILABLE, and no application saw it', () => {
    const end = judgeStreamEnd({ kind: 'reset', code: 0x7 });
    expect([statusName(end.code), end.reach, end.by]).toEqual(['UNAVAILABLE', 'refused', 'backend']);
    expect(end.message).toBe('the backend reset the stream with REFUSED_STREAM');
  });

  it.each([[0x0], [0xb], [0x2]])('above the last id of a GOAWAY with code %d it was refused', (code) => {
    const end = judgeStreamEnd({ kind: 'goaway', code });
    expect([statusName(end.code), end.reach, end.by]).toEqual(['UNAVAILABLE', 'refused', 'backend']);
    expect(end.message).toContain('going away');
  });

  it('CON-05: a stream above the last id is told with the code of the GOAWAY, and that it was not taken', () => {
    const end = judgeStreamEnd({ kind: 'goaway', code: 0xb });
    expect(decodeMessage(end.message)).toBe(
      "the backend's connection is going away (ENHANCE_YOUR_CALM) and did not take the stream",
    );
  });

  it('what has answered has been at work: neither refused nor unsent, whatever the peer says later', () => {
    const ends = [
      { kind: 'reset', code: 0x7 },
      { kind: 'goaway', code: 0 },
      { kind: 'lost', flushed: false, detail: 'closed' },
    ] as const;
    for (const wire of ends) {
      const { reach: before, ...rest } = judgeStreamEnd(wire, false);
      expect(before).not.toBe('processed');
      expect(judgeStreamEnd(wire, true)).toEqual({ ...rest, reach: 'processed' });
    }
    expect(judgeStreamEnd({ kind: 'reset', code: 0x8 }, true)).toEqual(judgeStreamEnd({ kind: 'reset', code: 0x8 }));
  });

  it('a stream error is INTERNAL and says what was wrong', () => {
    const end = judgeStreamEnd({ kind: 'streamError', code: 0x1, detail: 'a second :status' });
    expect([statusName(end.code), end.reach, end.by]).toEqual(['INTERNAL', 'processed', 'backend']);
    expect(decodeMessage(end.message)).toContain('PROTOCOL_ERROR: a second :status');
  });

  it('metadata over our limit is RESOURCE_EXHAUSTED by us, naming the flag', () => {
    const end = judgeStreamEnd({ kind: 'headersTooLarge' });
    expect([statusName(end.code), end.reach, end.by]).toEqual(['RESOURCE_EXHAUSTED', 'processed', 'proxy']);
    expect(end.message).toContain('--max-header-list-size');
  });

  it('SM-08: lost with its connection it is UNAVAILABLE, and may have been processed', () => {
    const end = judgeStreamEnd({ kind: 'lost', flushed: true, detail: 'ECONNRESET' });
    expect([statusName(end.code), end.reach, end.by]).toEqual(['UNAVAILABLE', 'processed', 'loss']);
    expect(end.message).toBe('the connection to the backend was lost: ECONNRESET');
  });

  it('SM-29: lost before its HEADERS were written it was never sent', () => {
    const end = judgeStreamEnd({ kind: 'lost', flushed: false, detail: 'closed' });
    expect([statusName(end.code), end.reach, end.by]).toEqual(['UNAVAILABLE', 'unsent', 'loss']);
  });

  it('details are percent-encoded, as all messages are', () => {
    expect(judgeStreamEnd({ kind: 'lost', flushed: true, detail: '100%\n' }).message).toContain('100%25%0A');
    expect(unplacedEnd('50% é').message).toBe('50%25 %C3%A9');
  });

  it('SM-32: no backend is UNAVAILABLE, unplaced, by the proxy', () => {
    const end = unplacedEnd('no backend is connected');
    expect(end).toEqual({
      code: 14,
      message: 'no backend is connected',
      reach: 'unplaced',
      pushback: { kind: 'none' },
      by: 'proxy',
      sign: { kind: 'own' },
    });
  });
});
