import type { Address } from '../config/address.js';
import type { StatusCode } from '../grpc/status.js';

/** One stream of Registry.Register, by the server's count. */
export type StreamId = number;

/** A backend that registered itself. */
export interface RegisteredBackend {
  /** By the grammar of `--backend`. */
  readonly name: string;
  /** As the backend wrote it. */
  readonly target: string;
  readonly endpoint: Address;
  /** 1 to 1000. */
  readonly weight: number;
  /** 0 to 9, lower used first. */
  readonly priority: number;
  /** Calls in flight, at most 1000000; null: no limit. */
  readonly maxCalls: number | null;
  /** Rising over all registrations of this process. */
  readonly generation: number;
}

/** What a backend says of itself, numbers as they came. */
export interface RegistrationFields {
  readonly name: string;
  readonly target: string;
  readonly weight: number;
  readonly priority: number;
  readonly maxCalls: number;
  readonly heartbeats: boolean;
}

/** Absent: unchanged. */
export interface UpdateFields {
  readonly weight?: number;
  readonly priority?: number;
  readonly maxCalls?: number;
}

/** One message of a backend. */
export type RegistryMessage =
  | { readonly kind: 'registration'; readonly fields: RegistrationFields }
  | { readonly kind: 'update'; readonly fields: UpdateFields }
  | { readonly kind: 'heartbeat' }
  | { readonly kind: 'leaving' }
  /** Well formed, and of no kind that this version knows. */
  | { readonly kind: 'unknown' }
  /** Not a RegisterRequest at all. */
  | { readonly kind: 'malformed'; readonly problem: string };

/** One message to a backend. */
export type RegistryReply =
  | { readonly kind: 'registered'; readonly generation: number; readonly heartbeatInterval: number }
  | { readonly kind: 'updated' }
  | { readonly kind: 'rejected'; readonly reason: string }
  | { readonly kind: 'left' };

export type RegistryEvent =
  | { readonly type: 'opened'; readonly stream: StreamId }
  | { readonly type: 'received'; readonly stream: StreamId; readonly message: RegistryMessage }
  /** The backend half-closed. */
  | { readonly type: 'finished'; readonly stream: StreamId }
  /** The stream is gone: reset, or with its connection. */
  | { readonly type: 'broke'; readonly stream: StreamId; readonly by: 'reset' | 'connection' }
  /** Somebody else names this backend now: its registration ends and nothing else comes of it. */
  | { readonly type: 'expelled'; readonly name: string; readonly why: string }
  /** Time passed. */
  | { readonly type: 'woke' }
  /** The process is about to end: every stream ends, nobody is lost. */
  | { readonly type: 'stopping' };

export type RegistryDecision =
  /** A backend is new, or what is said of it changed. `replaces`: the generation that it had before; null: it is new. */
  | { readonly type: 'put'; readonly backend: RegisteredBackend; readonly replaces: number | null }
  /** It is gone: its calls are to end now. */
  | { readonly type: 'lose'; readonly backend: RegisteredBackend; readonly why: string }
  /** It left: its calls are to finish. */
  | { readonly type: 'drain'; readonly backend: RegisteredBackend; readonly why: string }
  | { readonly type: 'reply'; readonly stream: StreamId; readonly reply: RegistryReply }
  /** Ends the stream with a status. */
  | { readonly type: 'end'; readonly stream: StreamId; readonly code: StatusCode; readonly details: string };

/** What the registry asks at the moment that it must decide. */
export interface RegistryEnv {
  /** Monotonic milliseconds. */
  readonly now: number;
  readonly draining: boolean;
  /** Who else names this backend, in words: `--backend`, `the endpoints file PATH`; null: nobody. */
  reservedBy(name: string): string | null;
  /** Our own listener that a call to this address would come back to, in words; null: none. */
  ownListener(endpoint: Address): string | null;
}
