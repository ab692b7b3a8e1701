import type { Sessions } from '../balance/sessions.js';
import type { BackendId } from '../grpc/backend-id.js';
import type { ActionParts } from './backend-actions.js';
import type { BackendHistory } from './backend-history.js';
import type { BackendSource } from './backend-state.js';
import type { EventHub, EventSink, EventSource } from './event-hub.js';
import type { LiveThrottle } from './live.js';
import type { Program } from './program.js';
import type { SharedText } from './shared-text.js';

/** What the admin endpoints tell, read when asked, and what they act on. */
export interface AdminState extends ActionParts {
  readonly draining: () => boolean;
  /** Clock milliseconds. */
  readonly now: () => number;
  readonly history: Pick<BackendHistory, 'look'>;
  /** Where the backends that are wanted come from; one that is missing is removed. */
  readonly sources: () => ReadonlyMap<BackendId, BackendSource>;
  readonly sessions: Pick<Sessions, 'stats' | 'clear'>;
  /** The token bucket; null where nothing throttles. */
  readonly throttle: () => LiveThrottle | null;
  /** Null: a proxy without a program around it, which has no files to follow. */
  readonly program: Program | null;
  /** The files of the dashboard; null: there are none. */
  readonly readAsset: ReadAsset | null;
  /** What the live endpoints tell. */
  readonly watch: Watch;
  /** Prometheus text; absent: nothing is counted. */
  readonly metrics?: Pick<SharedText, 'full' | 'read'> | undefined;
  /** A line of the log. */
  readonly tell: (level: 'info', fields: Readonly<Record<string, unknown>>, message: string) => void;
}

/** The calls that ended last, how things are, and who is told of it as it happens. */
export interface Watch extends EventSource {
  readonly hub: EventHub;
}

/** The text of a file that belongs to the program, by its path in the program's directory. Rejects where there is none. */
export type ReadAsset = (path: string) => Promise<string>;

/** An answer, in JSON unless it says otherwise. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
  /** The content-type of a body that is a text as it stands. */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The body comes piece by piece, by who is called with its reader; returns what is to be called when that has gone. */
  readonly stream?: (sink: EventSink) => () => void;
  /** The body is long: it is made piece by piece as its reader takes it. */
  readonly pieces?: () => AsyncGenerator<Buffer, void>;
}

/** A request that has been admitted. */
export interface AdminRequest {
  /** As in the path: escapes stand. */
  readonly segment: string;
  /** After the `?`; empty where there is none. */
  readonly query: string;
  /** Who asks, for the log. */
  readonly peer: string;
  /** As the reader of a stream sends it. */
  readonly lastEventId: string | undefined;
}

/** An answer that says in a sentence why not. */
export function refused({ status, problem }: { readonly status: number; readonly problem: string }): Answer {
  return { status, body: { error: problem } };
}
