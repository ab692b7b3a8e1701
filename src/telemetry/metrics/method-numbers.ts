import { stopReasons } from '../../grpc/stop-reason.js';
import { Counts } from './counts.js';
import { countBuckets, latencyBuckets, sizeBuckets, transparentBuckets } from './definition.js';
import { Histogram } from './histogram.js';
import { codeNames } from './labels.js';

/** The ends of one method's attempts with one status (A66). Seconds and bytes. */
export class AttemptNumbers {
  readonly duration = new Histogram(latencyBuckets);
  readonly sent = new Histogram(sizeBuckets);
  readonly received = new Histogram(sizeBuckets);
}

/** What is counted for one method. Made when first needed: most methods see few statuses. */
export class MethodNumbers {
  started = 0;
  /** Calls with more than one attempt: see proxy/live-numbers.ts. */
  saved = 0;
  retried = 0;
  hedged = 0;
  hedgesWon = 0;
  readonly calls = new Counts(codeNames, stopReasons);
  /** By code. */
  private readonly attemptsByCode: (AttemptNumbers | undefined)[] = [];
  private readonly callsByCode: (Histogram | undefined)[] = [];
  /** Null: none yet. */
  retries: Histogram | null = null;
  transparent: Histogram | null = null;
  hedges: Histogram | null = null;
  retryDelay: Histogram | null = null;

  /** @param code 0 to 16 */
  attempts(code: number): AttemptNumbers {
    const known = this.attemptsByCode[code];
    if (known !== undefined) return known;
    const made = new AttemptNumbers();
    this.attemptsByCode[code] = made;
    return made;
  }

  /** Seconds. */
  callDuration(code: number): Histogram {
    const known = this.callsByCode[code];
    if (known !== undefined) return known;
    const made = new Histogram(latencyBuckets);
    this.callsByCode[code] = made;
    return made;
  }

  eachAttempts(take: (code: string, numbers: AttemptNumbers) => void): void {
    this.attemptsByCode.forEach((numbers, code) => {
      if (numbers !== undefined) take(codeNames[code] ?? '', numbers);
    });
  }

  eachCallDuration(take: (code: string, duration: Histogram) => void): void {
    this.callsByCode.forEach((duration, code) => {
      if (duration !== undefined) take(codeNames[code] ?? '', duration);
    });
  }

  /** How many repeats of each kind one call had; none is not told (A96). @param delay seconds without an attempt */
  repeated(retries: number, transparent: number, hedges: number, delay: number): void {
    this.retries = observed(this.retries, countBuckets, retries);
    this.transparent = observed(this.transparent, transparentBuckets, transparent);
    this.hedges = observed(this.hedges, countBuckets, hedges);
    this.retryDelay = observed(this.retryDelay, latencyBuckets, delay);
  }
}

function observed(known: Histogram | null, buckets: readonly number[], value: number): Histogram | null {
  if (value === 0) return known;
  const histogram = known ?? new Histogram(buckets);
  histogram.observe(value);
  return histogram;
}
