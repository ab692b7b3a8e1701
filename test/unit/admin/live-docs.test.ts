import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { describeRecent } from '../../../src/admin/recent-call.js';
import { millis } from '../../../src/grpc/millis.js';
import { createNoMeters } from '../../../src/proxy/no-meters.js';
import { ask } from './ask.js';
import { World } from './backends.js';
import { failed, failure } from './call-records.js';

/*
 * The fields of /calls and /live against the tables of docs/admin.md.
 */

const page = readFileSync(new URL('../../../docs/admin.md', import.meta.url), 'utf8');

function rowsOf(heading: string): string[] {
  const text = page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  const rows = (text.split('| field | |\n|---|---|\n')[1] ?? '').split('\n').filter((line) => line.startsWith('| `'));
  return rows.flatMap((row) => [...(row.split(' | ')[0] ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name));
}

/** @param opaque fields that are told as a whole */
function fieldsOf(value: unknown, opaque: readonly string[], at = ''): string[] {
  if (Array.isArray(value) && typeof value[0] === 'object' && !opaque.includes(at))
    return [...new Set(value.flatMap((item) => fieldsOf(item, opaque, `${at}[]`)))];
  if (typeof value !== 'object' || value === null || Array.isArray(value) || opaque.includes(at)) return [at];
  return Object.entries(value).flatMap(([key, item]) => fieldsOf(item, opaque, at === '' ? key : `${at}.${key}`));
}

test('docs/admin.md has every field of /calls, and no others', () => {
  const attempts = Array.from({ length: 40 }, () =>
    failure({ told: true, trigger: 'delay', pushback: { kind: 'after', ms: millis(5) } }),
  );
  const pin = { target: 'b1', strict: true };
  const call = describeRecent(failed({ attempts, pin, deadlineAt: 2000 }), 1, 0);
  const whole = { ...call, attempts_left_out: call.attempts_left_out ?? 8 };
  const fields = fieldsOf({ calls: [whole] }, []);
  expect(rowsOf('GET /calls').toSorted()).toEqual(fields.toSorted());
});

test('docs/admin.md has every field of /live, and no others', () => {
  const world = new World();
  const { body } = ask('/live', world);
  const calls = { ended: 1, ok: 0, cancelled: 0, saved: 0, retried: 0, hedged: 0, hedges_won: 0 };
  const methods = [{ method: 's/M', ...calls }];
  const fields = fieldsOf({ ...createNoMeters().live(), ...(body as object), methods }, [
    'backends',
    'codes',
    'reasons',
  ]);
  const told = fields.map((field) => field.replace(/^latency\.(calls|first_ended|first_cut)\./, 'HISTOGRAM.'));
  const rows = rowsOf('GET /live').filter((row) => row !== 'HISTOGRAM');
  expect(rows.toSorted()).toEqual([...new Set([...told, 'codes', 'reasons'])].toSorted());
});
