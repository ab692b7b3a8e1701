import type { Answer } from '../admin/admin-state.js';
import type { HealthChange } from '../balance/health-types.js';
import type { ServiceConfig } from '../config/service-config.js';
import type { Settings } from '../config/settings.js';
import type { BackendId } from '../grpc/backend-id.js';
import type { BackendNews } from './told-finder.js';
import type { BackendTlsFiles, ClientTlsFiles, FileContents } from './types.js';

/*
 * What the primary and its workers tell each other, in values that structured clone takes. Each channel keeps the order.
 */

/** What the admin listener asks a worker: what the endpoint at `path` would answer there (createTable). */
export interface WorkerQuestion {
  readonly path: string;
  readonly segment: string;
  readonly query: string;
  readonly peer: string;
}

/** A body that is long comes before it, in pieces of text. */
export type WorkerAnswer = Pick<Answer, 'status' | 'body'>;

/** All that a worker begins with; it reads no file and no environment. */
export interface WorkerStart {
  readonly type: 'start';
  /** Its share of the limits is in them already. */
  readonly settings: Settings;
  readonly config: ServiceConfig;
  readonly files: FileContents;
  readonly backends: BackendNews;
  /** Names the run, all workers of it. */
  readonly instance: string;
  readonly log: { readonly format: 'json' | 'pretty'; readonly color: boolean };
}

export type ToWorker =
  | WorkerStart
  | { readonly type: 'configure'; readonly config: ServiceConfig }
  | { readonly type: 'backends'; readonly backends: BackendNews }
  /** D19: its attempts end in this turn. */
  | { readonly type: 'lose'; readonly id: BackendId; readonly detail: string }
  | { readonly type: 'secure_clients'; readonly files: ClientTlsFiles }
  | { readonly type: 'secure_backends'; readonly files: BackendTlsFiles }
  /** Another worker has parked a backend, or released it (D31). */
  | { readonly type: 'health'; readonly change: HealthChange }
  | { readonly type: 'question'; readonly id: number; readonly question: WorkerQuestion }
  /** Takes no more calls and finishes those that it has. */
  | { readonly type: 'quiesce' }
  | { readonly type: 'stop' };

export type ToPrimary =
  /** It runs, and waits for its start. */
  | { readonly type: 'hello' }
  | { readonly type: 'ready'; readonly listening: readonly string[] }
  /** It cannot start, in a sentence about an address. */
  | { readonly type: 'failed'; readonly problem: string }
  | { readonly type: 'refresh'; readonly name: string }
  | { readonly type: 'health'; readonly change: HealthChange }
  /** To a question; a long answer comes in pieces of text, and this is the last. Null: it has none. */
  | { readonly type: 'answer'; readonly id: number; readonly answer: WorkerAnswer | null }
  | { readonly type: 'piece'; readonly id: number; readonly text: string }
  | { readonly type: 'drained' };
