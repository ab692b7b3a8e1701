import { describe, expect, it } from 'vitest';
import { millis } from '../../../src/grpc/millis.js';
import { type IncomingCall, readRequest } from '../../../src/grpc/request.js';
import { type AttemptOptions, answerFields, attemptFields, ownAnswer, ownTrailers } from '../../../src/grpc/rewrite.js';
import { lines, pairs } from './lines.js';

const prefix = 'hedgerow-';

function call(extra: readonly (readonly [string, string])[] = []): IncomingCall {
  const verdict = readRequest(
    lines([
      [':method', 'POST'],
      [':scheme', 'https'],
      [':path', '/demo.Echo/Say'],
      [':authority', 'echo.example'],
      ['content-type', 'application/grpc'],
      ['te', 'trailers'],
      ['x-own', '1'],
      ...extra,
    ]),
    prefix,
    true,
  );
  if (verdict.kind !== 'call') throw new Error('not a call');
  return verdict.call;
}

const first: AttemptOptions = { scheme: 'http', authority: 'echo.example', timeout: null, previous: 0, policy: true };

describe('the request of an attempt', () => {
  it('MD-01: has pseudo-header fields first, te once, the client’s lines, and no count of attempts', () => {
    expect(pairs(attemptFields(call(), first))).toEqual([
      [':method', 'POST'],
      [':scheme', 'http'],
      [':path', '/demo.Echo/Say'],
      [':authority', 'echo.example'],
      ['te', 'trailers'],
      ['content-type', 'application/grpc'],
      ['x-own', '1'],
    ]);
  });

  it('has te even where the client sent none', () => {
    const verdict = readRequest(
      lines([
        [':method', 'POST'],
        [':path', '/a/b'],
        ['content-type', 'application/grpc'],
      ]),
      prefix,
      true,
    );
    if (verdict.kind !== 'call') throw new Error('not a call');
    expect(pairs(attemptFields(verdict.call, { ...first, authority: '' }))).toEqual([
      [':method', 'POST'],
      [':scheme', 'http'],
      [':path', '/a/b'],
      ['te', 'trailers'],
      ['content-type', 'application/grpc'],
    ]);
  });

  it('has the scheme of its own connection', () => {
    expect(pairs(attemptFields(call(), { ...first, scheme: 'https' }))[1]).toEqual([':scheme', 'https']);
  });

  it('MD-14: has the authority that it is given', () => {
    const incoming = call();
    const own = attemptFields(incoming, first);
    expect(own[3]).toBe(incoming.authorityField);
    const other = attemptFields(incoming, { ...first, authority: 'b1.internal:8080' });
    expect(pairs(other)[3]).toEqual([':authority', 'b1.internal:8080']);
    expect(attemptFields(call(), { ...first, authority: 'b1.internal:8080' })[3]).toBe(other[3]);
  });

  it('goes on with any number of authorities, and keeps no line for those after the first thousand', () => {
    const line = (authority: string) => attemptFields(call(), { ...first, authority })[3];
    for (let i = 0; i < 3000; i += 1) expect(line(`b${i}`)?.value).toBe(`b${i}`);
    expect(line('b500')).toBe(line('b500'));
    expect(line('b2999')).toEqual(line('b2999'));
    expect(line('b2999')).not.toBe(line('b2999'));
  });

  it('CAN-03: has what is left of the deadline, each attempt its own', () => {
    const incoming = call([['grpc-timeout', '2S']]);
    expect(pairs(attemptFields(incoming, { ...first, timeout: millis(2000) }))).toContainEqual([
      'grpc-timeout',
      '2000000u',
    ]);
    const second = pairs(attemptFields(incoming, { ...first, timeout: millis(1899.5), previous: 1 }));
    expect(second.filter(([name]) => name === 'grpc-timeout')).toEqual([['grpc-timeout', '1899500u']]);
  });

  it('MD-02: counts the policy’s attempts before it', () => {
    for (const previous of [1, 2, 15, 16, 1000]) {
      const counts = pairs(attemptFields(call(), { ...first, previous })).filter(([name]) => name.includes('previous'));
      expect(counts).toEqual([['grpc-previous-rpc-attempts', String(previous)]]);
    }
  });

  it('MD-07: adds its own count to the client’s, in one line', () => {
    const incoming = call([['grpc-previous-rpc-attempts', '7']]);
    const count = (previous: number) =>
      pairs(attemptFields(incoming, { ...first, previous })).filter(([name]) => name === 'grpc-previous-rpc-attempts');
    expect(count(0)).toEqual([['grpc-previous-rpc-attempts', '7']]);
    expect(count(1)).toEqual([['grpc-previous-rpc-attempts', '8']]);
  });

  it('MD-08: drops a malformed count where a policy is in force', () => {
    const incoming = call([['grpc-previous-rpc-attempts', 'abc']]);
    expect(pairs(attemptFields(incoming, first)).map(([name]) => name)).not.toContain('grpc-previous-rpc-attempts');
    expect(pairs(attemptFields(incoming, { ...first, previous: 1 }))).toContainEqual([
      'grpc-previous-rpc-attempts',
      '1',
    ]);
  });

  it('passes the client’s count untouched where no policy is in force, whatever it is', () => {
    const incoming = call([
      ['grpc-previous-rpc-attempts', 'abc'],
      ['grpc-previous-rpc-attempts', '007'],
    ]);
    expect(pairs(attemptFields(incoming, { ...first, policy: false })).slice(-2)).toEqual([
      ['grpc-previous-rpc-attempts', 'abc'],
      ['grpc-previous-rpc-attempts', '007'],
    ]);
  });

  it('BUF-17, MD-13: each attempt has a list of its own with the very same lines in it', () => {
    const incoming = call([['blob-bin', 'AA=']]);
    const one = attemptFields(incoming, first);
    const two = attemptFields(incoming, { ...first, previous: 1 });
    expect(one).not.toBe(two);
    expect(one.slice(5, 8)).toEqual(incoming.fields);
    incoming.fields.forEach((line, i) => {
      expect(one[5 + i]).toBe(line);
      expect(two[5 + i]).toBe(line);
    });
  });

  it('a line that must not be indexed stays so', () => {
    const fields = lines([
      [':method', 'POST'],
      [':path', '/a/b'],
      ['content-type', 'application/grpc'],
    ]);
    const secret = { name: 'authorization', value: 'Bearer x', neverIndexed: true };
    const verdict = readRequest([...fields, secret], prefix, true);
    expect(verdict.kind === 'call' && attemptFields(verdict.call, first)).toContain(secret);
  });
});

describe('a backend’s metadata, initial and trailing', () => {
  const added = lines([['hedgerow-backend', 'b1']]);

  it('MD-15, PIN-31: pass line by line, lose the prefix’s keys and gain ours at the end', () => {
    const fields = lines([
      [':status', '200'],
      ['content-type', 'application/grpc'],
      ['hedgerow-backend', 'forged'],
      ['grpc-status', '14'],
      ['grpc-status-details-bin', 'CA4='],
      ['grpc-retry-pushback-ms', '5'],
      ['hedgerow-x-bin', 'AA'],
      ['hedgerows', 'kept'],
      ['date', 'today'],
    ]);
    expect(pairs(answerFields(fields, prefix, added))).toEqual([
      [':status', '200'],
      ['content-type', 'application/grpc'],
      ['grpc-status', '14'],
      ['grpc-status-details-bin', 'CA4='],
      ['grpc-retry-pushback-ms', '5'],
      ['hedgerows', 'kept'],
      ['date', 'today'],
      ['hedgerow-backend', 'b1'],
    ]);
  });

  it('are left as they came', () => {
    const fields = lines([['grpc-status', '0']]);
    const list = answerFields(fields, prefix, added);
    expect(fields).toHaveLength(1);
    expect(list[0]).toBe(fields[0]);
    expect(list[1]).toBe(added[0]);
  });
});

describe('an answer of our own', () => {
  it('is Trailers-Only', () => {
    expect(pairs(ownAnswer(14, 'no backend: 100% down', lines([['hedgerow-retries', '0']])))).toEqual([
      [':status', '200'],
      ['content-type', 'application/grpc'],
      ['grpc-status', '14'],
      ['grpc-message', 'no backend: 100%25 down'],
      ['hedgerow-retries', '0'],
    ]);
  });

  it('has no message where there is none', () => {
    expect(pairs(ownAnswer(0, '', []))).toEqual([
      [':status', '200'],
      ['content-type', 'application/grpc'],
      ['grpc-status', '0'],
    ]);
  });

  it('is trailers where headers have gone out', () => {
    expect(pairs(ownTrailers(13, 'é', lines([['hedgerow-retries', '2']])))).toEqual([
      ['grpc-status', '13'],
      ['grpc-message', '%C3%A9'],
      ['hedgerow-retries', '2'],
    ]);
  });

  it('SM-14: may carry a code outside the set', () => {
    expect(pairs(ownTrailers(300, '', []))).toEqual([['grpc-status', '300']]);
    expect(pairs(ownTrailers(16, '', []))).toEqual([['grpc-status', '16']]);
  });

  it('uses one object for lines that repeat', () => {
    const one = ownAnswer(14, 'a', []);
    const two = ownAnswer(14, 'b', []);
    expect(one[0]).toBe(two[0]);
    expect(one[1]).toBe(two[1]);
    expect(one[2]).toBe(two[2]);
    const count = attemptFields(call(), { ...first, previous: 3 }).at(-1);
    expect(attemptFields(call(), { ...first, previous: 3 }).at(-1)).toBe(count);
  });

  it('has no line that must not be indexed', () => {
    const made = [...ownAnswer(14, 'a', []), ...ownTrailers(300, 'b', [])];
    const attempt = attemptFields(call(), { ...first, authority: 'x', timeout: millis(5), previous: 20 });
    for (const line of [...made, ...attempt]) expect(line.neverIndexed).toBe(false);
  });
});
