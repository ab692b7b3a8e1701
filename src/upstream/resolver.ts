import type { AlarmHandle, Alarms, Clock, Random } from '../runtime/ports.js';
import type { Lookup } from './lookup.js';
import {
  newResolution,
  type Resolution,
  type ResolutionEvent,
  type ResolutionLimits,
  type ResolutionStep,
  resolutionWakeAt,
  stepResolution,
} from './resolution.js';

export interface ResolverPorts {
  readonly clock: Clock;
  readonly alarms: Alarms;
  readonly random: Random;
}

export interface ResolverEvents {
  /** IP literals, each once, in a stable order; never empty. Only where they are others than before. */
  readonly onMembers: (members: readonly string[]) => void;
  /** What is wrong, as a phrase; null: it is over. The members stay what they are. Told once. */
  readonly onTrouble: (problem: string | null) => void;
  /** A look-up is over. */
  readonly onOutcome?: ((outcome: Resolved['outcome']) => void) | undefined;
}

/** What a look-up came to. */
export interface Resolved {
  readonly outcome: 'changed' | 'unchanged' | 'failed';
  /** What is wrong, as a phrase; null where nothing is. */
  readonly problem: string | null;
}

/** Follows one name. */
export interface Resolver {
  start(): void;
  /** A connection was lost or could not be made: ask again, soon. */
  want(): void;
  /** Ask again at once, unless that is being done. Resolves to what comes of it; to null where it was stopped before. */
  ask(): Promise<Resolved | null>;
  readonly resolution: Resolution;
  /** Nothing is told after it. */
  stop(): void;
}

/** What an answer, or the lack of one, came to. */
function outcomeOf({ resolution, decisions }: ResolutionStep): Resolved['outcome'] {
  if (resolution.failures > 0) return 'failed';
  return decisions.some(({ type }) => type === 'changed') ? 'changed' : 'unchanged';
}

/** Binds a resolution to time and to what looks names up. Tells nothing before `start` has returned. */
export function createResolver(
  lookup: Lookup,
  limits: ResolutionLimits,
  ports: ResolverPorts,
  events: ResolverEvents,
): Resolver {
  const { clock, alarms, random } = ports;
  let resolution = newResolution(clock.now());
  let alarm: AlarmHandle | null = null;
  let stopped = false;
  let askers: ((resolved: Resolved | null) => void)[] = [];

  function tellAskers(resolved: Resolved | null): void {
    const told = askers;
    askers = [];
    for (const tell of told) tell(resolved);
  }

  function on(event: ResolutionEvent): void {
    if (stopped) return;
    const step = stepResolution(resolution, event, limits, clock.now(), random.next());
    resolution = step.resolution;
    const isAnswer = event.type === 'answered' || event.type === 'failed';
    if (isAnswer) events.onOutcome?.(outcomeOf(step));
    if (alarm !== null) alarms.cancel(alarm);
    const wakeAt = resolutionWakeAt(resolution);
    alarm = wakeAt === null ? null : alarms.set(wakeAt, () => on({ type: 'woke' }));
    for (const decision of step.decisions) {
      switch (decision.type) {
        case 'ask':
          void look();
          break;
        case 'changed':
          events.onMembers(decision.members);
          break;
        case 'trouble':
          events.onTrouble(decision.problem);
          break;
        default:
          decision satisfies never;
      }
    }
    if (isAnswer) tellAskers({ outcome: outcomeOf(step), problem: step.resolution.trouble });
  }

  async function look(): Promise<void> {
    let event: ResolutionEvent;
    try {
      event = { type: 'answered', answer: await lookup.ask() };
    } catch (error) {
      event = { type: 'failed', problem: error instanceof Error ? error.message : String(error) };
    }
    on(event);
  }

  return {
    start: () => on({ type: 'woke' }),
    want: () => on({ type: 'wanted' }),
    ask() {
      if (stopped) return Promise.resolve(null);
      const resolved = new Promise<Resolved | null>((resolve) => {
        askers.push(resolve);
      });
      on({ type: 'asked' });
      return resolved;
    },
    get resolution() {
      return resolution;
    },
    stop() {
      stopped = true;
      if (alarm !== null) alarms.cancel(alarm);
      lookup.stop();
      tellAskers(null);
    },
  };
}
