import { expect, test } from 'vitest';
import { readCallQuery } from '../../../src/admin/call-query.js';
import { describeRecent } from '../../../src/admin/recent-call.js';
import { backendId } from '../../../src/grpc/backend-id.js';
import { attempt, failed, record, retried } from './call-records.js';

const calls = [
  describeRecent(retried({ id: 'r', method: '/shop.Stock/Get' }), 4, 0),
  describeRecent(failed({ id: 'f', method: '/shop.Stock/Set' }), 3, 0),
  describeRecent(record({ id: 'p', method: '/shop.Cart/Get' }), 2, 0),
  describeRecent(
    failed({ id: 'g', method: '/a', code: 77, attempts: [attempt({ backend: backendId('pool/10.0.0.1:1') })] }),
    1,
    0,
  ),
];

function found(text: string): string {
  const read = readCallQuery(text);
  if (!read.ok) throw new Error(read.problem);
  return calls
    .filter(read.query.wants)
    .map(({ call }) => call)
    .join('');
}

test.each([
  ['', 'rfpg'],
  ['method=/shop.Stock/Get', 'r'],
  ['method=shop.Stock/Get', 'r'],
  ['method=/shop.Stock', ''],
  ['method=/shop.Stock/', 'rf'],
  ['method=%2Fshop.Cart%2F', 'p'],
  ['backend=b2', 'rf'],
  ['backend=B1', 'rp'],
  ['backend=pool', 'g'],
  ['backend=pool/10.0.0.1:1', 'g'],
  ['backend=poo', ''],
  ['reason=ok', 'rp'],
  ['reason=attempts_exhausted', 'fg'],
  ['code=UNAVAILABLE', 'f'],
  ['code=unavailable', 'f'],
  ['code=14', 'f'],
  ['code=77', 'g'],
  ['call=p', 'p'],
  ['backend=b2&code=OK', 'r'],
])('/calls?%s finds %s', (text, expected) => {
  expect(found(text)).toBe(expected);
});

test('limit and since are numbers for whoever reads the ring', () => {
  expect(readCallQuery('limit=5&since=0')).toMatchObject({ ok: true, query: { limit: 5, since: 0 } });
  expect(readCallQuery('')).toMatchObject({ ok: true, query: { since: 0 } });
});

test.each([
  ['methods=x', '/calls knows no methods; it knows method, backend, reason, code, call, limit, since'],
  ['constructor=x', '/calls knows no constructor; it knows'],
  ['code=14&code=13', 'code is given twice'],
  ['code=TEAPOT', 'code=TEAPOT is no status code: neither a name like UNAVAILABLE nor a number'],
  ['code=constructor', 'code=constructor is no status code'],
  ['reason=bad', 'reason=bad is none of ok, fatal_status,'],
  ['method=', 'method is empty'],
  ['limit=0', 'limit=0 is no whole number from 1 on'],
  ['limit=x', 'limit=x is no whole number from 1 on'],
  ['since=-1', 'since=-1 is no whole number from 0 on'],
  ['since=', 'since= is no whole number from 0 on'],
])('/calls?%s is refused: %s', (text, problem) => {
  expect(readCallQuery(text)).toEqual({ ok: false, problem: expect.stringContaining(problem) });
});
