import type { HealthChange } from '../../balance/health-types.js';
import { Status, type StatusCode } from '../../grpc/status.js';
import type { StopReason } from '../../grpc/stop-reason.js';
import type { LiveNumbers } from '../../proxy/live-numbers.js';
import type { LossRecord } from '../../proxy/losses.js';
import type {
  ClientRefusal,
  MeteredAttempt,
  MeteredCall,
  Meters,
  MethodIndex,
  Readings,
  ReloadedThing,
  ReloadOutcome,
  ResolutionOutcome,
} from '../../proxy/meters.js';
import type { BackendChange } from '../../upstream/types.js';
import type { LineKind } from '../log-room.js';
import { describe } from './describe.js';
import { attemptCauseIndex, type CommitCause, commitCauseIndex, lastCode, stopReasonIndex } from './labels.js';
import { readLive } from './live-numbers.js';
import type { MethodNumbers } from './method-numbers.js';
import { type ProcessFacts, ProgramNumbers } from './program-numbers.js';
import { delayOf, hasWon, isSaved, lastFirst, pinOutcomeOf, retryReasonOf } from './repeats.js';
import type { Scene } from './scene.js';

/** Places in `attemptResults`. */
const resultOk = 0;
const resultLost = 1;
const resultCancelled = 2;

/** Makes text of a scene, piece by piece. */
export type ScenePrinter = (scene: Scene) => Iterable<string>;

/** Counts in numbers of our own; nothing is formatted before `render`. */
export class ProgramMeters extends ProgramNumbers implements Meters {
  private print: ScenePrinter | null;
  private loading: Promise<void> | null = null;
  private failure: unknown = null;

  /** @param print null: OpenTelemetry's, loaded when text is first asked for: a start without it is 50 ms sooner */
  constructor(facts: ProcessFacts, print: ScenePrinter | null = null) {
    super(facts);
    this.print = print;
  }

  method(path: string, named: boolean): MethodIndex {
    const index = this.methods.indexOf(path);
    return index === 0 && named ? this.methods.admit(path) : index;
  }

  attemptStarted(method: MethodIndex): void {
    // Which method it is counts for may show only when it ends.
    if (method !== 0) this.methods.at(method).started += 1;
  }

  attemptEnded(method: MethodIndex, path: string, attempt: MeteredAttempt): void {
    const { end, backend, expired, startedAt, endedAt } = attempt;
    const code = end === null ? (expired ? Status.DEADLINE_EXCEEDED : Status.CANCELLED) : known(end.code);
    const numbers = this.methods.at(method === 0 ? this.identify(path, attempt) : method);
    if (method === 0) numbers.started += 1;
    const seconds = (endedAt - startedAt) / 1000;
    const ended = numbers.attempts(code);
    const bucket = ended.duration.bucketOf(seconds);
    ended.duration.observeAt(bucket, seconds);
    ended.sent.observe(attempt.sentBytes);
    ended.received.observe(attempt.receivedBytes);

    const there = backend === null ? this.nowhere : this.backends.of(backend.name);
    const cancelled = end === null && !expired;
    const result = cancelled
      ? resultCancelled
      : end?.by === 'loss'
        ? resultLost
        : code === Status.OK
          ? resultOk
          : resultCancelled + code;
    there.attempts.add(attemptCauseIndex[attempt.cause], result);
    if (!cancelled) there.duration.observeAt(bucket, seconds);
    if (end !== null && end.pushback.kind !== 'none') this.pushbacks.addFor(end.pushback.kind);
  }

  callEnded(call: MeteredCall, told: StatusCode, reason: StopReason, now: number): void {
    const { attempts, guarded, placement } = call;
    const code = known(told);
    // Its first attempt may have made the method known.
    const index = call.method === 0 ? this.methods.indexOf(call.request.path) : call.method;
    const numbers = this.methods.at(index);
    const failed = code !== Status.OK;
    numbers.calls.add(code, stopReasonIndex[reason]);
    const ms = now - call.startedAt;
    numbers.callDuration(code).observe(ms / 1000);
    this.latency.observe(ms);
    this.replayPerCall.observe(call.relay.peakHeld);
    if (attempts.length > 0) this.attemptsPerCall.observe(attempts.length);
    if (attempts.length > 1) this.countRepeats(numbers, call, code, now);
    if (failed && guarded) this.retryStopped.add(stopReasonIndex[reason]);
    if (placement.kind === 'any') return;
    const outcome = pinOutcomeOf(call, code, reason);
    const kind = placement.by === 'pin' ? 'named' : 'session';
    if (outcome !== null)
      this.pins.addFor(`${kind} ${placement.kind === 'only' ? 'strict' : 'first_attempt'}`, outcome);
  }

  callRefused(code: StatusCode, reason: StopReason): void {
    this.methods.at(0).calls.add(known(code), stopReasonIndex[reason]);
  }

  committed(cause: CommitCause): void {
    this.commits.add(commitCauseIndex[cause]);
  }

  throttled(): void {
    this.throttledCount += 1;
  }

  clientConnected(): void {
    this.clientConnects += 1;
  }

  clientRefused(kind: ClientRefusal): void {
    this.refusals.addFor(kind);
  }

  backendChanged({ name, event }: BackendChange): void {
    this.backends.of(name).connections.addFor(event);
  }

  healthChanged(change: HealthChange, now: number): void {
    const numbers = this.backends.of(nameOf(change.id));
    if (change.kind === 'parked') numbers.parks.addFor(change.reason);
    else numbers.releases.addFor(change.route);
    this.parks.changed(change, numbers, now);
  }

  lost({ backend, outcomes }: LossRecord): void {
    const { losses } = this.backends.of(nameOf(backend));
    for (const [outcome, count] of Object.entries(outcomes)) losses.addFor(outcome, '', count);
  }

  resolved(outcome: ResolutionOutcome): void {
    this.resolutions.addFor(outcome);
  }

  reloaded(what: ReloadedThing, outcome: ReloadOutcome): void {
    this.reloads.addFor(what, outcome);
  }

  /** A log line was not written. */
  lineDropped(kind: LineKind): void {
    this.droppedLines.addFor(kind);
  }

  /** A timer was late. */
  lagged(ms: number): void {
    this.loopLag.observe(ms / 1000);
  }

  live(): LiveNumbers {
    return readLive(this);
  }

  *render(readings: Readings): Generator<string, void> {
    this.backends.trim(new Set(readings.backends.map(({ name }) => name)));
    const reading = describe(this, readings);
    let step = reading.next();
    for (; step.done !== true; step = reading.next()) yield '';
    this.loading ??= this.load();
    // It comes in a later turn.
    while (this.print === null) {
      if (this.failure !== null) throw this.failure;
      yield '';
    }
    yield* this.print(step.value);
  }

  private async load(): Promise<void> {
    try {
      this.print ??= (await import('./render.js')).renderScene;
    } catch (error) {
      this.failure = error;
    }
  }

  /** D23: a method is known once a backend has answered for it with anything but UNIMPLEMENTED. */
  private identify(path: string, { end }: MeteredAttempt): MethodIndex {
    const index = this.methods.indexOf(path);
    if (index !== 0 || end === null) return index;
    const stated = end.sign.kind === 'stated' && end.code !== Status.UNIMPLEMENTED;
    return stated ? this.methods.admit(path) : 0;
  }

  private countRepeats(numbers: MethodNumbers, call: MeteredCall, code: number, now: number): void {
    const { attempts } = call;
    const ok = code === Status.OK;
    let retries = 0;
    let hedges = 0;
    let transparent = 0;
    let won = false;
    attempts.forEach((attempt, at) => {
      switch (attempt.cause) {
        case 'first':
          return;
        case 'retry':
          retries += 1;
          this.retries.addFor(retryReasonOf(attempts[at - 1]), ok ? 'success' : 'failed');
          return;
        case 'hedge': {
          hedges += 1;
          const wins = hasWon(attempt, call, ok);
          won ||= wins;
          this.hedges.addFor(attempt.trigger ?? 'delay', String(wins));
          return;
        }
        case 'transparent':
          transparent += 1;
          return;
        default:
          attempt.cause satisfies never;
      }
    });
    numbers.repeated(retries, transparent, hedges, delayOf(attempts, now) / 1000);
    if (retries > 0) numbers.retried += 1;
    if (won) numbers.hedgesWon += 1;
    if (isSaved(call, ok)) numbers.saved += 1;
    if (hedges === 0) return;
    numbers.hedged += 1;
    const first = lastFirst(attempts);
    if (first !== undefined)
      (first.end === null ? this.firstCut : this.firstEnded).observe(first.endedAt - call.startedAt);
  }
}

/** One of the canonical codes. */
function known(code: StatusCode): number {
  return code > lastCode ? Status.UNKNOWN : code;
}

/** A backend's configured name: that of its group. */
function nameOf(id: string): string {
  const slash = id.indexOf('/');
  return slash === -1 ? id : id.slice(0, slash);
}
