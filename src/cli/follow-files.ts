import { createHash } from 'node:crypto';
import { AskedReads, type ReadResult } from './asked-reads.js';
import { fileProblem } from './file-problem.js';
import type { FollowIo, Reloaded } from './follow-service-config.js';

/** What each file of a set holds, or where it is; null where none is named. */
export type FileSet<Key extends string> = { readonly [K in Key]: string | null };

/** Files that count together: a certificate is of no use without its key. */
export interface FollowedSet<Key extends string> {
  /** What they are for, as the metrics say it. */
  readonly key: Reloaded;
  /** The same, as the log says it: `TLS for clients`. */
  readonly what: string;
  readonly paths: FileSet<Key>;
  /** As the start read them: good ones. */
  readonly texts: FileSet<Key>;
  /** What is wrong with them, in one sentence with the file's name; null where nothing is. */
  readonly judge: (texts: FileSet<Key>) => string | null;
  /** May throw one sentence. */
  readonly apply: (texts: FileSet<Key>) => void;
  /** Good texts in words, for the log: what they are, and what to warn of. */
  readonly describe: (texts: FileSet<Key>) => SetWords;
}

export interface SetWords {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
  readonly warnings: readonly string[];
}

/** How it stands with a set of files. Times are the clock's. */
export interface SetState {
  /** By their keys. */
  readonly paths: Readonly<Record<string, string>>;
  /** What the last read came to that was told. */
  readonly outcome: ReadResult['outcome'];
  readonly readAt: number;
  readonly appliedAt: number;
  /** Why the files are not what is in force, as it was told; null where they are. */
  readonly problem: string | null;
}

/** A set of files, followed. */
export interface SetFollower {
  /** Reads them now, and tells the result. Null after `stop`: nothing is read. */
  ask(): Promise<ReadResult | null>;
  readonly state: SetState;
  /** Nothing is applied after it. */
  stop(): void;
}

/** A change is read when nothing has changed for so long (ms). */
const quiet = 50;
/** Files that are never quiet are read so long after their first change all the same (ms). */
const longestQuiet = 1000;
/**
 * Bad news are told when they have been bad for so long (ms): what renews a certificate writes it and its key one after the
 * other, and between the two they do not fit.
 */
const doubt = 2000;

const oneFile = {
  fresh: 'a new file in force',
  again: 'the file is again the one in force',
  useless: 'the file is of no use, the one read before stays in force',
};
const severalFiles = {
  fresh: 'new files in force',
  again: 'the files are again those in force',
  useless: 'the files are of no use, those read before stay in force',
};

/** Follows files that a start has read: the last good ones stay in force. Never throws. */
export function followFiles<Key extends string>(set: FollowedSet<Key>, io: Omit<FollowIo, 'apply'>): SetFollower {
  const { clock, alarms } = io.ports;
  const { what } = set;
  const named = (Object.keys(set.paths) as Key[]).flatMap((key) => {
    const path = set.paths[key];
    return path === null ? [] : [{ key, path }];
  });
  const words = named.length === 1 ? oneFile : severalFiles;
  let inForce = digest(set.texts);
  /** What is wrong with the files now, as it was told. */
  let trouble: string | null = null;
  /** Since when the news are bad and untold; null where they are not. */
  let badSince: number | null = null;
  let readAt = Number.POSITIVE_INFINITY;
  let readBy = Number.POSITIVE_INFINITY;
  let reading = false;
  let asked = false;
  let askedAgain = false;
  const waiting = new AskedReads();
  let stopped = false;
  let last: Omit<SetState, 'paths'> = {
    outcome: 'applied',
    readAt: clock.now(),
    appliedAt: clock.now(),
    problem: null,
  };
  let alarm: ReturnType<typeof alarms.set> | null = null;

  function arm(): void {
    if (alarm !== null) alarms.cancel(alarm);
    alarm = reading || readAt === Number.POSITIVE_INFINITY ? null : alarms.set(readAt, () => void read());
  }

  function changed(): void {
    if (stopped) return;
    const now = clock.now();
    readBy = Math.min(readBy, now + longestQuiet);
    readAt = Math.min(now + quiet, readBy);
    arm();
  }

  async function read(): Promise<void> {
    reading = true;
    readAt = Number.POSITIVE_INFINITY;
    readBy = Number.POSITIVE_INFINITY;
    arm();
    const texts: Record<Key, string | null> = { ...set.texts };
    let problem: string | null = null;
    for (const { key, path } of named) {
      try {
        texts[key] = await io.readAgain(path);
      } catch (error) {
        problem ??= fileProblem(path, error);
      }
    }
    reading = false;
    if (stopped) return;
    take(texts, problem ?? set.judge(texts));
    waiting.settle({ outcome: last.outcome, problem: last.problem });
    asked = askedAgain;
    askedAgain = false;
    if (asked) void read();
    else arm();
  }

  function take(texts: FileSet<Key>, problem: string | null): void {
    if (problem !== null) {
      badNews(problem);
      return;
    }
    const version = digest(texts);
    const { fields, message, warnings } = set.describe(texts);
    if (version === inForce) {
      if (asked) io.tell('info', fields, `${what}: unchanged: ${message}`);
      else if (trouble !== null) io.tell('info', fields, `${what}: ${words.again}: ${message}`);
      came('unchanged', null);
    } else {
      try {
        set.apply(texts);
      } catch (error) {
        badNews(error instanceof Error ? error.message : String(error));
        return;
      }
      inForce = version;
      came('applied', null);
      io.tell('info', fields, `${what}: ${words.fresh}: ${message}`);
      for (const warning of warnings) io.tell('warn', {}, warning);
    }
    trouble = null;
    badSince = null;
  }

  function came(outcome: ReadResult['outcome'], problem: string | null): void {
    const now = clock.now();
    last = { outcome, readAt: now, appliedAt: outcome === 'applied' ? now : last.appliedAt, problem };
    io.reloaded?.(set.key, outcome);
  }

  function badNews(problem: string): void {
    if (!asked) {
      if (problem === trouble) return;
      const now = clock.now();
      badSince ??= now;
      // A change that came meanwhile is read first.
      if (readAt !== Number.POSITIVE_INFINITY) return;
      if (now < badSince + doubt) {
        readAt = badSince + doubt;
        return;
      }
    }
    badSince = null;
    trouble = problem;
    came('rejected', problem);
    io.tell('warn', {}, `${what}: ${words.useless}: ${problem}`);
  }

  const unwatch = named.map(({ path }) => io.watch(path, changed));
  return {
    ask() {
      if (stopped) return Promise.resolve(null);
      const result = waiting.wait(reading);
      if (reading) askedAgain = true;
      else {
        asked = true;
        void read();
      }
      return result;
    },
    get state() {
      return { ...last, paths: Object.fromEntries(named.map(({ key, path }) => [key, path])) };
    },
    stop() {
      stopped = true;
      waiting.end();
      for (const stop of unwatch) stop();
      readAt = Number.POSITIVE_INFINITY;
      arm();
    },
  };
}

/** Tells texts apart without keeping a second copy of a key. */
function digest(texts: FileSet<string>): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex');
}
