import type { Picker } from '../balance/types.js';
import type { Plan } from '../policy/types.js';
import type { ReplayBudget } from '../replay/types.js';
import type { Alarms, Clock, Random } from '../runtime/ports.js';
import type { UpstreamPool } from '../upstream/types.js';
import type { AuthoritySetting } from './authority.js';
import type { Notes } from './notes.js';
import type { CallObserver } from './observer.js';
import type { RelayBudget } from './relay-budget.js';

/** All that calls share. Built once by the composition root. */
export interface ProxyParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly alarms: Alarms;
  readonly pool: UpstreamPool;
  readonly picker: Picker;
  /** The plan in force for a path, captured when the call starts (CFG-10). */
  readonly planFor: (path: string) => Plan;
  /** Replay bytes in all. */
  readonly replay: ReplayBudget;
  /** Bytes; --per-call-buffer-limit and --client-buffer-limit. */
  readonly callLimit: number;
  readonly clientLimit: number;
  readonly relay: RelayBudget;
  /** With its dash: `hedgerow-`. */
  readonly prefix: string;
  /** Our own response keys. */
  readonly notes: Notes;
  /** --backend-authority. */
  readonly authority: AuthoritySetting;
  /** Of the backend connections. */
  readonly scheme: 'http' | 'https';
  readonly observer: CallObserver;
  /** A call's id for logs: unique in this process's life. */
  readonly nextCallId: () => string;
  /** A defect of ours, caught at a call's edge; the call ends INTERNAL `internal`. */
  readonly onDefect: (error: unknown, call: string) => void;
}
