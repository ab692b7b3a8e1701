import { afterAll, expect } from 'vitest';
import type { StopReason } from '../../src/grpc/stop-reason.js';
import type { TestProxy } from '../support/proxy.js';

/*
 * What a proxy of these tests says that no honest peer may bring about: a limit, a flood, a client turned away, PINGs that a
 * server complains of, a backend's connection lost, a defect. A file that imports this fails at its end where there was any.
 */

const complaints: string[] = [];
const watched: { readonly proxy: TestProxy; readonly expected: readonly RegExp[] }[] = [];

/** How calls end over a limit. `buffer_exceeded` is not among them: the retries ask for it, by their size. */
const limits: readonly string[] = [
  'headers_too_large',
  'message_too_large',
  'overloaded',
  'malformed_request',
  'internal',
] satisfies readonly StopReason[];

/** Warnings of what backends here do: they take their time to come up on a busy machine, and fail as they are told. */
const expectedEvents: readonly string[] = ['connect_failed', 'parked'];

// The first hook of a file is the last to run: the proxies have stopped.
afterAll(() => {
  for (const { proxy, expected } of watched) {
    const { refused, defects, changes, calls } = proxy;
    const told = [
      ...refused,
      ...defects.map(String),
      ...changes.map(({ detail }) => detail).filter((detail) => detail.includes('too_many_pings')),
      ...calls.filter(({ reason }) => limits.includes(reason)).map(({ reason, message }) => `${reason}: ${message}`),
    ];
    complaints.push(...told.filter((line) => !expected.some((words) => words.test(line))));
  }
  expect(complaints, 'what the proxies complained of').toEqual([]);
});

/** A line of the built program's log. */
export function heardLine(text: string): void {
  const { level, reason, event } = JSON.parse(text) as {
    readonly level: number;
    readonly reason?: string;
    readonly event?: string;
  };
  // Lines that warn are of clients refused, of connections lost, of files that are wrong; above them are defects.
  const warns = level > 30 && !expectedEvents.includes(event ?? '');
  if (warns || limits.includes(reason ?? '') || text.includes('too_many_pings')) complaints.push(text);
}

/**
 * A proxy in this process.
 * @param expected what it is to complain of, where that is what the test is about
 */
export function watch(proxy: TestProxy, expected: readonly RegExp[] = []): TestProxy {
  watched.push({ proxy, expected });
  return proxy;
}
