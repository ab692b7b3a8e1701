import { setTimeout as pause } from 'node:timers/promises';
import { Happenings } from '../support/alive.js';
import type { Line } from '../support/frames.js';
import { type RawBackend, startRawBackend } from '../support/raw-peer.js';
import type { RecordedStream } from '../support/recorded-stream.js';
import { type Action, attemptKey, type BackendView, type Case, callKey, defaultMethod } from './case-format.js';

/** How long an attempt may stay open after its call's end before it counts as left open (ms). */
const settleBound = 2000;

/** The backend of one case. */
export interface CaseBackend {
  readonly port: number;
  /** Resolves when the call (from 0) has brought so many attempts, each with its whole request. */
  whenAttempts(call: number, count: number): Promise<void>;
  /** Resolves when the backend has ended the call's nth attempt (from 1), and the other side has read that end. */
  whenEnded(call: number, attempt: number): Promise<void>;
  /** What came of a call. To be asked after the client has its end: waits until none of its attempts is open. */
  view(call: number): Promise<BackendView>;
  close(): Promise<void>;
}

/** One attempt as it stands. */
interface Attempt {
  readonly stream: RecordedStream;
  readonly arrivedAt: number;
  /** When the backend began to end it. */
  endedAt: number | null;
  /** All that ends it is sent. */
  acted: boolean;
}

/** Plays a case's script, on a port of loopback. @param port 0: any free one */
export async function startCaseBackend(script: Case, port = 0): Promise<CaseBackend> {
  const attempts = new Map<number, Attempt[]>();
  const happenings = new Happenings();

  const of = (call: number): Attempt[] => {
    const there = attempts.get(call) ?? [];
    attempts.set(call, there);
    return there;
  };
  const wholeOnes = (call: number): number => of(call).filter(({ stream }) => stream.ended).length;
  const whenAttempts = async (call: number, count: number): Promise<void> => {
    await happenings.until(`attempt ${count} of call ${call} of ${script.id}`, () =>
      wholeOnes(call) >= count ? true : undefined,
    );
  };

  async function meet(stream: RecordedStream): Promise<void> {
    const call = Number(stream.header(callKey) ?? Number.NaN);
    const wanted = script.calls?.[call];
    if (wanted === undefined || stream.header(':path') !== (wanted.method ?? script.method ?? defaultMethod))
      throw new Error(`${script.id}: a stream of no call: ${JSON.stringify(stream.headers)}`);
    const there = of(call);
    const attempt: Attempt = { stream, arrivedAt: performance.now(), endedAt: null, acted: false };
    there.push(attempt);
    const nth = there.length;
    void stream.whenEnded().then(
      () => happenings.changed(),
      () => {},
    );
    const action = wanted.attempts[nth - 1] ?? { do: 'silent' };
    if (action.do === 'silent') return;
    if (action.when === undefined || action.when === 'request') await stream.whenEnded();
    else if (action.when !== 'headers') await stream.whenMessages(action.when);
    if (action.onAttempt !== undefined) await whenAttempts(call, action.onAttempt);
    if (action.afterMs !== undefined) await pause(action.afterMs);
    if (stream.raw.end?.kind === 'reset' || stream.raw.lost) return;
    // From now on the client's reset is no answer to an open attempt.
    attempt.endedAt = performance.now();
    if (action.informational !== undefined) stream.block(action.informational, false);
    await act(stream, action, [attemptKey, String(nth)]);
    attempt.acted = true;
    happenings.changed();
  }

  const backend: RawBackend = await startRawBackend({ name: script.id, port, onStream: meet });

  return {
    port: backend.port,
    whenAttempts,
    async whenEnded(call, nth) {
      const ended = await happenings.until(`the end of attempt ${nth} of call ${call} of ${script.id}`, () => {
        const attempt = of(call)[nth - 1];
        return attempt === undefined || attempt.endedAt === null || !attempt.acted ? undefined : attempt;
      });
      // Who answers a PING has read what came before it on the connection.
      await ended.stream.connection.ping();
    },
    async view(call) {
      const lingerMs = script.calls?.[call]?.lingerMs ?? 0;
      await quiet(backend, of(call));
      if (lingerMs > 0) {
        await pause(lingerMs);
        await quiet(backend, of(call));
      }
      return viewOf(of(call));
    },
    close: () => backend.close(),
  };
}

async function act(stream: RecordedStream, action: Action, mark: Line): Promise<void> {
  switch (action.do) {
    case 'trailers-only':
      return stream.trailersOnly(action.code, [...messageLine(action.message), ...(action.trailers ?? []), mark]);
    case 'answer':
      stream.sendHeaders([...(action.headers ?? []), mark]);
      if (action.thenMs !== undefined) await pause(action.thenMs);
      for (const message of action.messages ?? []) await stream.sendMessage(message);
      return stream.trailers(action.code ?? 0, [...messageLine(action.message), ...(action.trailers ?? []), mark]);
    case 'block':
      stream.block([...action.lines, mark], action.data === undefined);
      if (action.data !== undefined) await stream.sendData(Buffer.from(action.data), true);
      return;
    case 'headers-then-reset':
      stream.sendHeaders([mark]);
      return stream.reset(action.error);
    case 'reset':
      return stream.reset(action.error);
    case 'goaway':
      return stream.connection.goaway(Math.max(0, stream.id - 2), action.error);
    case 'kill':
      return stream.connection.kill();
    case 'silent':
      return;
    default:
      return action satisfies never;
  }
}

function messageLine(message: string | undefined): Line[] {
  return message === undefined ? [] : [['grpc-message', message]];
}

/**
 * All that the client's side wrote before now has come, and no attempt is open. A PING goes through the same pipe as what was
 * written before its answer.
 */
async function quiet(backend: RawBackend, attempts: readonly Attempt[]): Promise<void> {
  const bound = new AbortController();
  const late = pause(settleBound, undefined, { signal: bound.signal }).catch(() => {});
  const pinged = backend.connections.filter(({ closed }) => !closed).map((connection) => connection.ping());
  const over = (): Promise<unknown>[] =>
    attempts.filter((attempt) => attempt.endedAt === null).map(({ stream }) => gone(stream));
  await Promise.race([late, Promise.allSettled(pinged).then(() => Promise.allSettled(over()))]);
  bound.abort();
}

/** The client's side has reset the stream, or the connection is gone. */
async function gone(stream: RecordedStream): Promise<void> {
  if (!stream.raw.lost) await stream.whenReset();
}

function viewOf(attempts: readonly Attempt[]): BackendView {
  const numbered = attempts.map((attempt, index) => ({ ...attempt, nth: index + 1 }));
  return {
    attempts: attempts.length,
    previous: attempts.map(({ stream }) => stream.headerValues('grpc-previous-rpc-attempts').join(',') || '-'),
    cancelled: numbered.filter((it) => it.endedAt === null && it.stream.resetCode !== null).map(({ nth }) => nth),
    open: numbered
      .filter((it) => it.endedAt === null && it.stream.resetCode === null && !it.stream.raw.lost)
      .map(({ nth }) => nth),
    requests: attempts.map(({ stream }) => stream.messages.map((message) => shown(String(message)))),
    headers: attempts.map(({ stream }) => stream.headers),
    gapsMs: attempts.slice(1).map(({ arrivedAt }, index) => {
      const before = attempts[index];
      return arrivedAt - (before?.endedAt ?? before?.arrivedAt ?? arrivedAt);
    }),
    timeoutsMs: attempts.map(({ stream }) => timeoutOf(stream.header('grpc-timeout'))),
  };
}

function shown(message: string): string | number {
  return message.length > 100 && /^x*$/.test(message) ? message.length : message;
}

const unitMs: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

function timeoutOf(text: string | undefined): number | null {
  return text === undefined ? null : Number(text.slice(0, -1)) * (unitMs[text.slice(-1)] ?? Number.NaN);
}
