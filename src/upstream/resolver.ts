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
  readonly onOutcome?: ((outcome: 'changed' | 'unchanged' | 'failed') => void) | undefined;
}

/** Follows one name. */
export interface Resolver {
  start(): void;
  /** A connection was lost or could not be made: ask again, soon. */
  want(): void;
  /** Ask again at once. */
  ask(): void;
  readonly resolution: Resolution;
  /** Nothing is told after it. */
  stop(): void;
}

/** What an answer, or the lack of one, came to. */
function outcomeOf({ resolution, decisions }: ResolutionStep): 'changed' | 'unchanged' | 'failed' {
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

  function on(event: ResolutionEvent): void {
    if (stopped) return;
    const step = stepResolution(resolution, event, limits, clock.now(), random.next());
    resolution = step.resolution;
    if (event.type === 'answered' || event.type === 'failed') events.onOutcome?.(outcomeOf(step));
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
    ask: () => on({ type: 'asked' }),
    get resolution() {
      return resolution;
    },
    stop() {
      stopped = true;
      if (alarm !== null) alarms.cancel(alarm);
      lookup.stop();
    },
  };
}
