import { type Millis, millis } from '../grpc/millis.js';
import { Status } from '../grpc/status.js';
import type { ModelRun } from './run-model.js';

/** What happened to the calls that started in one stretch of time, and in it. */
export interface Bucket {
  readonly from: Millis;
  readonly calls: number;
  readonly ok: number;
  /** Attempts that were sent in it, whichever call they belong to. */
  readonly attempts: number;
  /** How far the bucket of tokens went down in it, in thousandths; null where nothing throttles. */
  readonly lowestMilliTokens: number | null;
}

const widths = [1, 2, 5].flatMap((digit) => [0, 1, 2, 3, 4, 5, 6, 7].map((power) => digit * 10 ** power));
const most = 20;

/** The finest round width that needs at most 20 buckets. @param span more than 0 */
export function bucketWidth(span: number): Millis {
  const sorted = widths.toSorted((a, b) => a - b);
  return millis(sorted.find((width) => Math.ceil(span / width) <= most) ?? span);
}

/** From 0 to the last start of a call. */
export function bucketsOf(run: ModelRun, width: Millis): readonly Bucket[] {
  const last = run.calls.at(-1)?.startedAt ?? millis(0);
  const buckets = Array.from({ length: Math.floor(last / width) + 1 }, (_, index) => ({
    from: millis(index * width),
    calls: 0,
    ok: 0,
    attempts: 0,
    lowestMilliTokens: run.tokens === null ? null : Number.POSITIVE_INFINITY,
  }));
  const at = (moment: number) => buckets[Math.floor(moment / width)];
  for (const { startedAt, code } of run.calls) {
    const bucket = at(startedAt);
    if (bucket === undefined) continue;
    bucket.calls += 1;
    if (code === Status.OK) bucket.ok += 1;
  }
  for (const moment of run.sends) {
    const bucket = at(moment);
    if (bucket !== undefined) bucket.attempts += 1;
  }
  for (const { at: moment, milliTokens } of run.tokens?.levels ?? []) {
    const bucket = at(moment);
    if (bucket !== undefined && bucket.lowestMilliTokens !== null)
      bucket.lowestMilliTokens = Math.min(bucket.lowestMilliTokens, milliTokens);
  }
  carry(buckets, run);
  return buckets;
}

/** A level holds until the next one: a bucket begins with the one before it. */
function carry(buckets: { from: Millis; lowestMilliTokens: number | null }[], { tokens }: ModelRun): void {
  if (tokens === null) return;
  let next = 0;
  let level = tokens.limits.maxMilliTokens;
  for (const bucket of buckets) {
    for (let at = tokens.levels[next]; at !== undefined && at.at < bucket.from; at = tokens.levels[next]) {
      level = at.milliTokens;
      next += 1;
    }
    bucket.lowestMilliTokens = Math.min(bucket.lowestMilliTokens ?? level, level);
  }
}
