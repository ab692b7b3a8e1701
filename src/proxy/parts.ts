import type { Blame } from '../balance/blame.js';
import type { Health, HealthChange } from '../balance/health-types.js';
import type { Sessions } from '../balance/sessions.js';
import type { Picker } from '../balance/types.js';
import type { Throttle } from '../policy/throttle.js';
import type { CallPolicy } from '../policy/types.js';
import type { ReplayBudget } from '../replay/types.js';
import type { Alarms, Clock, Random, Turn } from '../runtime/ports.js';
import type { UpstreamPool } from '../upstream/types.js';
import type { AuthoritySetting } from './authority.js';
import type { LossBook } from './losses.js';
import type { MachineEnv } from './machine-env.js';
import type { Meters } from './meters.js';
import type { Notes } from './notes.js';
import type { CallObserver } from './observer.js';
import type { RelayBudget } from './relay-budget.js';
import type { Tracing } from './tracing.js';

/** All that calls share. Built once by the composition root. */
export interface ProxyParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly alarms: Alarms;
  readonly turn: Turn;
  readonly pool: UpstreamPool;
  /** Whether a backend or group is configured by that name, resolved or not. */
  readonly hasName: (name: string) => boolean;
  readonly picker: Picker;
  readonly health: Health;
  /** What the end of an attempt says of its backend (D21). */
  readonly blame: Blame;
  readonly onHealthChange: (change: HealthChange) => void;
  readonly sessions: Sessions;
  readonly losses: LossBook;
  /** What is in force for a path, captured when the call starts (CFG-10). */
  readonly policyFor: (path: string) => CallPolicy;
  /** One bucket for all calls (PRX-15). */
  readonly throttle: Throttle;
  /** Made of `random` and `throttle` (machine-env.ts). */
  readonly machineEnv: MachineEnv;
  /** Replay bytes in all. */
  readonly replay: ReplayBudget;
  /** Bytes; --per-call-buffer-limit and --client-buffer-limit. */
  readonly callLimit: number;
  readonly clientLimit: number;
  readonly relay: RelayBudget;
  /** With its dash: `hedgerow-`. */
  readonly prefix: string;
  /** Whether clients' directives have effect; their keys are removed either way (--directives). */
  readonly directives: boolean;
  /** How a pin binds where its call does not say (--pin, D1). */
  readonly pin: 'strict' | 'first-attempt';
  /** The same of a session (--session). */
  readonly session: 'strict' | 'first-attempt';
  /** A strict pin's call may be retried on its backend (D2). */
  readonly pinSameBackendRetry: boolean;
  /** Bytes of one message in either direction; null: no limit (--max-message-size). */
  readonly maxMessageSize: number | null;
  /** Our own response keys. */
  readonly notes: Notes;
  /** --backend-authority. */
  readonly authority: AuthoritySetting;
  /** Of the backend connections. */
  readonly scheme: 'http' | 'https';
  readonly observer: CallObserver;
  readonly meters: Meters;
  /** Null: no traces. */
  readonly tracing: Tracing | null;
  /** A call's id for logs: unique in this process's life. */
  readonly nextCallId: () => string;
  /** A defect of ours, caught at a call's edge; the call ends INTERNAL `internal`. */
  readonly onDefect: (error: unknown, call: string) => void;
}
