import type { AttemptEnd } from '../grpc/attempt-facts.js';
import type { BackendId } from '../grpc/backend-id.js';
import { type Millis, millis } from '../grpc/millis.js';
import { Status, type StatusCode } from '../grpc/status.js';
import type { StopReason } from '../grpc/stop-reason.js';
import type { Throttle } from '../policy/throttle.js';
import type { AttemptId, Decision, Plan } from '../policy/types.js';
import { createReplayBudget } from '../replay/budget.js';
import type { ReplayBudget } from '../replay/types.js';
import { driveCall } from './drive-call.js';
import { Fleet, type Park, type Visit } from './fleet.js';
import { seededRandom } from './seeded-random.js';
import { TokenLog, type TokenRecord } from './token-log.js';
import { createVirtualTime, type VirtualTime } from './virtual-time.js';
import { partSeed, type World } from './world.js';

/** How calls are treated. */
export interface ModelTerms {
  /** The method's `:path`. */
  readonly path: string;
  readonly plan: Plan;
  /** From a call's start; null: no deadline. */
  readonly deadline: Millis | null;
  readonly waitForReady: boolean;
  /** Its own: it is counted. */
  readonly throttle: Throttle;
}

/** What became of one call. Times count from the run's start. */
export interface CallFact {
  readonly startedAt: Millis;
  readonly endedAt: Millis;
  readonly code: StatusCode;
  readonly reason: StopReason;
  /** Attempts that were sent to a backend. */
  readonly sent: number;
  readonly retries: number;
  readonly hedges: number;
  /** The attempt that answered was a hedge. */
  readonly byHedge: boolean;
}

export interface ModelRun {
  /** In the order of their starts. */
  readonly calls: readonly CallFact[];
  /** When attempts were sent, in order. */
  readonly sends: readonly Millis[];
  readonly tokens: TokenRecord | null;
  /** Calls that the throttle held back at least once. */
  readonly suppressed: number;
  readonly parks: readonly Park[];
  /** The most that one backend had at a time. */
  readonly peakInFlight: number;
  /** What is still open when nothing more can happen: all 0. */
  readonly left: { readonly calls: number; readonly attempts: number; readonly bytes: number };
}

/** As the proxy has it: repeats of attempts that were never sent. */
const maxTransparent = 1000;

/** Runs all calls of a world, over one bucket and one set of backends. A call that nothing ends stays out of the facts. */
export function runModel(world: World, terms: ModelTerms): ModelRun {
  const time = createVirtualTime();
  const fleet = new Fleet(time, world, terms.path);
  const tokens = new TokenLog(time, terms.throttle);
  const budget = createReplayBudget(world.bufferLimit, 'total', null);
  const facts: (CallFact | null)[] = [];
  const gaps = seededRandom(partSeed(world.seed, -1, 0));
  const gap = 1000 / world.rate;
  let at = 0;

  const arrive = (): void => {
    const index = facts.length;
    facts.push(null);
    new ModelCall({ time, world, terms, fleet, tokens, budget, index }, (fact) => {
      facts[index] = fact;
    }).begin();
    planNext();
  };
  function planNext(): void {
    if (facts.length >= world.calls) return;
    at += world.arrivals === 'even' ? (facts.length === 0 ? 0 : gap) : -gap * Math.log(1 - gaps());
    time.at(millis(at), 'outside', arrive);
  }

  planNext();
  while (time.step());
  const calls = facts.filter((fact) => fact !== null);
  return {
    calls,
    sends: fleet.sends,
    tokens: tokens.record,
    suppressed: terms.throttle.suppressed,
    parks: fleet.parks,
    peakInFlight: Math.max(...fleet.backends.map(({ peak }) => peak)),
    left: {
      calls: facts.length - calls.length,
      attempts: fleet.backends.reduce((sum, { load }) => sum + load, 0),
      bytes: budget.held,
    },
  };
}

interface CallParts {
  readonly time: VirtualTime;
  readonly world: World;
  readonly terms: ModelTerms;
  readonly fleet: Fleet;
  readonly tokens: TokenLog;
  readonly budget: ReplayBudget;
  readonly index: number;
}

interface LiveVisit {
  readonly visit: Visit | null;
  /** Waits for a backend. */
  readonly stop: () => void;
}

/** One call: carries out what the machine decides. */
class ModelCall {
  private readonly parts: CallParts;
  private readonly done: (fact: CallFact) => void;
  private readonly startedAt: Millis;
  private readonly hear: ReturnType<typeof driveCall>;
  private readonly live = new Map<AttemptId, LiveVisit>();
  private readonly placed: BackendId[] = [];
  private readonly ends = new Map<AttemptId, StatusCode>();
  private readonly hedgeIds = new Set<AttemptId>();
  private readonly kept: ReplayBudget;
  private retries = 0;
  private hedges = 0;
  private throttled = false;
  private over = false;

  constructor(parts: CallParts, done: (fact: CallFact) => void) {
    const { time, world, terms, budget, index } = parts;
    this.parts = parts;
    this.done = done;
    this.startedAt = time.now;
    this.kept = createReplayBudget(world.perCallBufferLimit, 'call', budget);
    let random: (() => number) | null = null;
    const machine = {
      plan: terms.plan,
      maxTransparent,
      throttle: terms.throttle,
      random: () => {
        random ??= seededRandom(partSeed(world.seed, index, 0));
        return random();
      },
    };
    this.hear = driveCall(time, machine, {
      apply: (decision) => this.apply(decision),
      before: (_event, _env, { state }) => {
        if (state.held !== 'throttled' || this.throttled) return;
        this.throttled = true;
        terms.throttle.suppress();
      },
    });
  }

  begin(): void {
    const { deadline } = this.parts.terms;
    const deadlineAt = deadline === null ? null : millis(this.startedAt + deadline);
    this.hear({ type: 'started', deadlineAt, placement: { kind: 'any' }, policy: 'on' });
    const { requestBytes } = this.parts.world;
    // It may have found no backend.
    if (this.over || requestBytes === 0) return;
    const limit = this.kept.reserve(requestBytes);
    if (limit === null) return;
    const sent = new Map([...this.live].flatMap(([id, { visit }]) => (visit === null ? [] : [[id, requestBytes]])));
    this.hear({ type: 'bufferOverflowed', limit, sent });
  }

  private apply(decision: Decision): void {
    switch (decision.type) {
      case 'startAttempt':
        this.start(decision);
        return;
      case 'commit':
        this.release();
        return;
      case 'cancelAttempt': {
        const live = this.live.get(decision.attempt);
        this.live.delete(decision.attempt);
        live?.stop();
        live?.visit?.cancel(decision.why === 'deadline');
        return;
      }
      case 'countThrottle':
        this.parts.tokens.count(decision.as);
        return;
      case 'finish':
        this.finish(decision);
        return;
      default:
        decision satisfies never;
    }
  }

  private start(start: Extract<Decision, { type: 'startAttempt' }>): void {
    if (start.cause === 'retry') this.retries += 1;
    if (start.cause === 'hedge') this.hedges += 1;
    if (start.previous > 0 && this.parts.terms.plan.kind === 'hedge') this.hedgeIds.add(start.attempt);
    this.place(start);
  }

  private place(start: Extract<Decision, { type: 'startAttempt' }>): void {
    const { fleet, world, terms, index } = this.parts;
    const { attempt, cause } = start;
    const sent = fleet.visit({
      tried: [...this.placed],
      cause,
      guarded: terms.plan.kind !== 'none',
      random: seededRandom(partSeed(world.seed, index, attempt)),
      ended: (end) => this.ended(attempt, end),
    });
    if ('cancel' in sent) {
      this.placed.push(sent.backend);
      this.live.set(attempt, { visit: sent, stop: () => undefined });
      this.hear({ type: 'attemptPlaced', attempt, backend: sent.backend });
      return;
    }
    if (terms.waitForReady) this.live.set(attempt, { visit: null, stop: fleet.hope(() => this.place(start)) });
    else this.ended(attempt, sent);
  }

  private ended(attempt: AttemptId, { code, reach, pushback, by, reason }: AttemptEnd): void {
    this.live.delete(attempt);
    this.ends.set(attempt, code);
    this.hear({ type: 'attemptEnded', attempt, code, reach, pushback, by, reason });
  }

  private finish({ with: told, reason }: Extract<Decision, { type: 'finish' }>): void {
    this.over = true;
    this.release();
    const from = 'from' in told ? told.from : null;
    const own = 'code' in told ? told.code : Status.INTERNAL;
    this.done({
      startedAt: this.startedAt,
      endedAt: this.parts.time.now,
      code: from === null ? own : (this.ends.get(from) ?? own),
      reason,
      sent: this.placed.length,
      retries: this.retries,
      hedges: this.hedges,
      byHedge: reason === 'ok' && from !== null && this.hedgeIds.has(from),
    });
  }

  private release(): void {
    this.kept.release(this.kept.held);
  }
}
