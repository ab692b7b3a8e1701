import type { BackendId } from '../grpc/backend-id.js';

/** What an attempt asks of its call. Each call is made inside an event of the wire; none throws. */
export interface AttemptOwner<Attempt> {
  /** A stream is open: send the request's HEADERS and what is kept of its bytes. */
  attemptOpened(attempt: Attempt): void;
  /** Response headers that are not Trailers-Only are in `attempt.takeInitial()`. */
  attemptAnswered(attempt: Attempt): void;
  /** Offers response bytes to the client; returns how many were taken. */
  attemptOffers(chunk: Uint8Array, start: number, end: number): number;
  /** Its request stream has room again. */
  attemptWritable(attempt: Attempt): void;
  /** Backends that it should leave to the call's other attempts, where it can. */
  avoidedBy(attempt: Attempt): readonly BackendId[];
  /** It is over, `attempt.end` says how, and all that it answered has been passed on. */
  attemptEnded(attempt: Attempt): void;
  /** It answered with a message of `bytes`, more than the call accepts; what came before has been passed on (CFG-86). */
  attemptOverweight(attempt: Attempt, bytes: number): void;
  /** Its answer's header list was over our limit: the call ends RESOURCE_EXHAUSTED (CON-13). */
  attemptTooLarge(attempt: Attempt): void;
  /** A defect of ours was thrown. */
  attemptFailed(error: unknown): void;
  /** Of the first `bytes` of the request, those of messages, without their prefixes. */
  messageBytes(bytes: number): number;
}
