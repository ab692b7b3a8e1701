import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MetadataField } from '../../../src/grpc/metadata.js';
import {
  formatTraceBin,
  formatTraceparent,
  parseTraceBin,
  parseTraceparent,
  putTrace,
  readTrace,
  type TraceContext,
} from '../../../src/grpc/trace-context.js';
import { lines, pairs } from './lines.js';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';
const parent = `00-${traceId}-${spanId}-01`;
const context: TraceContext = { traceId, spanId, flags: 1 };
const own: TraceContext = { traceId, spanId: '1111111111111111', flags: 1 };
const ownParent = `00-${traceId}-1111111111111111-01`;

const hex = (bytes: number): fc.Arbitrary<string> =>
  fc
    .uint8Array({ minLength: bytes, maxLength: bytes })
    .filter((value) => value.some((byte) => byte !== 0))
    .map((value) => Buffer.from(value).toString('hex'));
const anyContext = fc.record({ traceId: hex(16), spanId: hex(8), flags: fc.nat(3) });

function binary(parts: readonly (string | number)[]): string {
  return Buffer.concat(
    parts.map((part) => (typeof part === 'number' ? Buffer.of(part) : Buffer.from(part, 'hex'))),
  ).toString('base64');
}

describe('traceparent', () => {
  it('is read as W3C has it', () => {
    expect(parseTraceparent(parent)).toEqual(context);
    expect(parseTraceparent(`00-${traceId}-${spanId}-00`)).toEqual({ ...context, flags: 0 });
    // Flags that nobody knows yet are not passed on.
    expect(parseTraceparent(`00-${traceId}-${spanId}-ff`)).toEqual({ ...context, flags: 3 });
  });

  it('of a later version is read as far as version 00 goes', () => {
    expect(parseTraceparent(`01-${traceId}-${spanId}-01`)).toEqual(context);
    expect(parseTraceparent(`cc-${traceId}-${spanId}-01-what-comes-later`)).toEqual(context);
    expect(parseTraceparent(`cc-${traceId}-${spanId}-01.what`)).toBeNull();
  });

  it.each([
    ['empty', ''],
    ['cut', parent.slice(0, -1)],
    ['version 00 with more behind it', `${parent}-00`],
    ['version ff', `ff-${traceId}-${spanId}-01`],
    ['upper case', parent.toUpperCase()],
    ['a trace id of zeros', `00-${'0'.repeat(32)}-${spanId}-01`],
    ['a span id of zeros', `00-${traceId}-${'0'.repeat(16)}-01`],
    ['no hex', `00-${traceId.replace('4', 'g')}-${spanId}-01`],
    ['blanks', ` ${parent}`],
    ['two in one line', `${parent},${parent}`],
  ])('is malformed: %s', (_, text) => {
    expect(parseTraceparent(text)).toBeNull();
  });

  it('comes back from its own text', () => {
    fc.assert(
      fc.property(anyContext, (one) => {
        expect(parseTraceparent(formatTraceparent(one))).toEqual(one);
      }),
    );
  });

  it('never throws, and gives what it can format again', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[0-9a-f-]{50,60}$/)), (text) => {
        const read = parseTraceparent(text);
        if (read !== null) expect(parseTraceparent(formatTraceparent(read))).toEqual(read);
      }),
    );
  });
});

describe('grpc-trace-bin', () => {
  it('is read and written as OpenCensus has it, 29 bytes without padding', () => {
    const text = binary([0, 0, traceId, 1, spanId, 2, 1]);
    expect(Buffer.from(text, 'base64')).toHaveLength(29);
    expect(parseTraceBin(text)).toEqual(context);
    expect(parseTraceBin(text.replace(/=+$/, ''))).toEqual(context);
    expect(formatTraceBin(context)).toBe(text.replace(/=+$/, ''));
    expect(formatTraceBin({ ...context, flags: 2 })).toBe(binary([0, 0, traceId, 1, spanId, 2, 0]).replace(/=+$/, ''));
  });

  it('may have no options, or fields that nobody knows after those that are known', () => {
    expect(parseTraceBin(binary([0, 0, traceId, 1, spanId]))).toEqual({ ...context, flags: 0 });
    expect(parseTraceBin(binary([0, 0, traceId, 1, spanId, 2, 1, 3, 'ffff']))).toEqual(context);
    expect(parseTraceBin(binary([0, 0, traceId, 1, spanId, 9, 1]))).toEqual({ ...context, flags: 0 });
  });

  it.each([
    ['empty', ''],
    ['no base64', '!!!!'],
    ['two in one line', `${formatTraceBin(context)},${formatTraceBin(context)}`],
    ['another version', binary([1, 0, traceId, 1, spanId, 2, 1])],
    ['cut', binary([0, 0, traceId, 1, spanId.slice(2)])],
    ['fields in another order', binary([0, 1, spanId, 0, traceId, 2, 1])],
    ['no span id', binary([0, 0, traceId, 2, 1, '0000000000000000'])],
    ['a trace id of zeros', binary([0, 0, '00'.repeat(16), 1, spanId, 2, 1])],
    ['far too long', binary([0, 0, traceId, 1, spanId, 2, 1, '00'.repeat(200)])],
  ])('is malformed: %s', (_, text) => {
    expect(parseTraceBin(text)).toBeNull();
  });

  it('comes back from its own text, but for the flag that it has no place for', () => {
    fc.assert(
      fc.property(anyContext, (one) => {
        expect(parseTraceBin(formatTraceBin(one))).toEqual({ ...one, flags: one.flags & 1 });
      }),
    );
  });

  it('never throws', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.base64String({ minLength: 30, maxLength: 60 })), (text) => {
        const read = parseTraceBin(text);
        if (read !== null) expect(parseTraceBin(formatTraceBin(read))).toEqual(read);
      }),
    );
  });
});

describe('what a request says of its trace', () => {
  const other = 'aaaaaaaaaaaaaaaa';
  const otherBinary = formatTraceBin({ traceId, spanId: other, flags: 1 });

  it('is nothing where it has none of the keys', () => {
    const fields = lines([
      ['x-own', '1'],
      ['tracestate', 'a=1'],
      ['baggage', 'k=v'],
    ]);
    expect(readTrace(fields)).toEqual({ parent: null, state: '', traceparent: null, binary: null });
  });

  it('is traceparent, whatever grpc-trace-bin says', () => {
    const trace = readTrace(
      lines([
        ['grpc-trace-bin', otherBinary],
        ['traceparent', parent],
        ['tracestate', 'a=1'],
        ['tracestate', 'b=2'],
      ]),
    );
    expect(trace.parent).toEqual(context);
    expect(trace.state).toBe('a=1,b=2');
  });

  it('is grpc-trace-bin where traceparent is malformed or comes twice, and then without tracestate', () => {
    for (const parents of [['nonsense'], [parent, parent]]) {
      const trace = readTrace(
        lines([
          ...parents.map((text): [string, string] => ['traceparent', text]),
          ['tracestate', 'a=1'],
          ['grpc-trace-bin', otherBinary],
        ]),
      );
      expect(trace.parent).toEqual({ traceId, spanId: other, flags: 1 });
      expect(trace.state).toBe('');
    }
  });

  it('is nothing where grpc-trace-bin comes twice', () => {
    const twice = lines([
      ['grpc-trace-bin', otherBinary],
      ['grpc-trace-bin', otherBinary],
    ]);
    expect(readTrace(twice).parent).toBeNull();
    expect(readTrace(twice.slice(1)).parent?.spanId).toBe(other);
  });
});

describe("a span's context in a request", () => {
  const rest = lines([
    ['x-own', '1'],
    ['baggage', 'k=v'],
  ]);

  function put(client: readonly (readonly [string, string])[]): (readonly [string, string])[] {
    const fields: MetadataField[] = [...lines(client), ...rest];
    putTrace(fields, own, readTrace(fields));
    return pairs(fields);
  }
  const withRest = (...added: readonly (readonly [string, string])[]): (readonly [string, string])[] => [
    ['x-own', '1'],
    ['baggage', 'k=v'],
    ...added,
  ];

  it('is a traceparent where the client used no form', () => {
    expect(put([])).toEqual(withRest(['traceparent', ownParent]));
    expect(put([['tracestate', 'a=1']])).toEqual(withRest(['traceparent', ownParent]));
  });

  it('takes the place of what the client sent, in the forms that it used', () => {
    const bin = formatTraceBin(own);
    expect(put([['traceparent', parent]])).toEqual(withRest(['traceparent', ownParent]));
    expect(put([['grpc-trace-bin', formatTraceBin(context)]])).toEqual(withRest(['grpc-trace-bin', bin]));
    expect(
      put([
        ['traceparent', parent],
        ['tracestate', 'a=1'],
        ['grpc-trace-bin', 'nonsense'],
        ['grpc-trace-bin', 'twice'],
      ]),
    ).toEqual(withRest(['traceparent', ownParent], ['tracestate', 'a=1'], ['grpc-trace-bin', bin]));
  });

  it('leaves never-indexed what came never-indexed', () => {
    const fields: MetadataField[] = [
      { name: 'traceparent', value: parent, neverIndexed: true },
      { name: 'tracestate', value: 'a=1', neverIndexed: true },
      { name: 'grpc-trace-bin', value: formatTraceBin(context), neverIndexed: false },
    ];
    putTrace(fields, own, readTrace(fields));
    expect(fields.map(({ neverIndexed }) => neverIndexed)).toEqual([true, true, false]);
  });
});
