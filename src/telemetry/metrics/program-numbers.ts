import { stopReasons } from '../../grpc/stop-reason.js';
import {
  clientRefusals,
  hedgeTriggers,
  reloadedThings,
  reloadOutcomes,
  resolutionOutcomes,
} from '../../proxy/meters.js';
import { lineKinds } from '../log-room.js';
import { BackendBook } from './backend-book.js';
import { BackendNumbers, ParkTimes } from './backend-numbers.js';
import { Counts } from './counts.js';
import { countBuckets, lagBuckets, liveBuckets, sizeBuckets } from './definition.js';
import { Histogram } from './histogram.js';
import { callOutcomes, commitCauses, pinKinds, pinModes, pinOutcomes, pushbackKinds, retryReasons } from './labels.js';
import { MethodBook } from './method-book.js';

/** What is known of the process, asked when the metrics are. */
export interface ProcessFacts {
  readonly version: string;
  /** Of Node.js. */
  readonly node: string;
  /** Seconds since the epoch. */
  readonly startedAt: number;
  readonly residentBytes: () => number;
  /** User and system. */
  readonly cpuSeconds: () => number;
}

/** Methods that are counted by name, and names of backends (D23). */
const mostMethods = 500;
const mostBackends = 500;

/** Everything that is counted. */
export class ProgramNumbers {
  readonly methods = new MethodBook(mostMethods);
  readonly backends = new BackendBook(mostBackends);
  /** Attempts that reached no backend. */
  readonly nowhere = new BackendNumbers();
  readonly parks = new ParkTimes();
  readonly attemptsPerCall = new Histogram(countBuckets);
  readonly replayPerCall = new Histogram(sizeBuckets);
  /** Milliseconds. */
  readonly latency = new Histogram(liveBuckets);
  /** First attempts of hedged calls (ms): those that ran to their end, and those that did not. */
  readonly firstEnded = new Histogram(liveBuckets);
  readonly firstCut = new Histogram(liveBuckets);
  readonly loopLag = new Histogram(lagBuckets);
  readonly retries = new Counts(retryReasons, callOutcomes);
  readonly hedges = new Counts(hedgeTriggers, ['true', 'false']);
  readonly retryStopped = new Counts(stopReasons);
  readonly commits = new Counts(commitCauses);
  readonly pushbacks = new Counts(pushbackKinds);
  /** Rows: kind and mode. */
  readonly pins = new Counts(
    pinKinds.flatMap((kind) => pinModes.map((mode) => `${kind} ${mode}`)),
    pinOutcomes,
  );
  readonly refusals = new Counts(clientRefusals);
  readonly resolutions = new Counts(resolutionOutcomes);
  readonly reloads = new Counts(reloadedThings, reloadOutcomes);
  readonly droppedLines = new Counts(lineKinds);
  throttledCount = 0;
  clientConnects = 0;
  readonly facts: ProcessFacts;

  constructor(facts: ProcessFacts) {
    this.facts = facts;
  }
}
