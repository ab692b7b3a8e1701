import { isDeepStrictEqual } from 'node:util';
import { valuesOf } from '../support/grpc-lines.js';
import { attemptKey, type BackendView, type ClientView, type Expect } from './case-format.js';

/** Timers round, and clocks are read at different moments (ms). */
const rounding = 2;

/** What is not as expected, one line each; none: all is. */
export function mismatches(expect: Expect, client: ClientView, backend: BackendView): string[] {
  const problems: string[] = [];
  const same = (what: string, wanted: unknown, got: unknown): void => {
    if (wanted !== undefined && !isDeepStrictEqual(wanted, got))
      problems.push(`${what}: ${JSON.stringify(wanted)} expected, got ${short(got)}`);
  };
  const within = (what: string, bounds: Expect['gapsMs'], got: readonly (number | null)[]): void => {
    if (bounds === undefined) return;
    same(`how many ${what}`, bounds.length, got.length);
    for (const [index, [least, most]] of bounds.entries()) {
      const value = got[index];
      if (value === undefined || (least === null && most === null)) continue;
      if (value === null || (least !== null && value < least - rounding) || (most !== null && value > most + rounding))
        problems.push(`${what}[${index}]: ${JSON.stringify([least, most])} expected, got ${value}`);
    }
  };
  same('status', expect.status, client.status);
  same('message', expect.message, client.message);
  same('messages', expect.messages, client.messages);
  same('attempts', expect.attempts, backend.attempts);
  same('previous', expect.previous, backend.previous);
  same('answered', expect.answered, answeredBy(client));
  same('cancelled', expect.cancelled, backend.cancelled);
  for (const [index, wanted] of expect.requests?.entries() ?? [])
    if (wanted !== null) same(`requests[${index}]`, wanted, backend.requests[index] ?? null);
  for (const [name, wanted] of Object.entries(expect.requestMetadata ?? {}))
    same(
      `${name} of the requests`,
      wanted,
      backend.headers.map((lines) => valuesOf(lines, name).join(',') || '-'),
    );
  within('gapsMs', expect.gapsMs, backend.gapsMs);
  within('timeoutsMs', expect.timeoutsMs, backend.timeoutsMs);
  for (const [name, wanted] of Object.entries(expect.metadata ?? {})) same(name, wanted, answered(client, name));
  if (expect.tookAtLeastMs !== undefined && client.tookMs < expect.tookAtLeastMs - rounding)
    problems.push(`took ${client.tookMs} ms, at least ${expect.tookAtLeastMs} expected`);
  if (backend.open.length > 0) problems.push(`attempts ${backend.open.join(', ')} were left open`);
  return problems;
}

/** The attempt whose end the client was told; null where the status was made on the way. */
function answeredBy({ trailers }: ClientView): number | null {
  const mark = trailers.findLast(([name]) => name === attemptKey);
  return mark === undefined ? null : Number(mark[1]);
}

function answered({ headers, trailers }: ClientView, name: string): string | null {
  const values = valuesOf([...headers, ...trailers], name);
  return values.length === 0 ? null : values.join(',');
}

function short(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 200 ? `${text.slice(0, 200)}…` : text;
}
