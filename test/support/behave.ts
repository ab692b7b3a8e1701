import type { Line } from './frames.js';
import type { RecordedStream } from './recorded-stream.js';

/** What a backend does with one stream, from its HEADERS on. */
export type Behaviour = (stream: RecordedStream) => void | Promise<void>;

/** Common behaviours. */
export const behave = {
  /** Waits for the whole request, then answers OK. */
  ok:
    (...messages: readonly (string | Uint8Array)[]): Behaviour =>
    async (stream) => {
      await stream.whenEnded();
      await stream.answer(messages);
    },
  /** Trailers-Only with this code, at once. */
  fail:
    (code: number, extra: readonly Line[] = []): Behaviour =>
    (stream) =>
      stream.trailersOnly(code, extra),
  /** Waits for the whole request, then Trailers-Only with this code. */
  failAfterRequest:
    (code: number, extra: readonly Line[] = []): Behaviour =>
    async (stream) => {
      await stream.whenEnded();
      stream.trailersOnly(code, extra);
    },
  /** RST_STREAM, at once. */
  reset:
    (code: number): Behaviour =>
    (stream) =>
      stream.reset(code),
  /** Answers the request's own bytes, whole. */
  echo: async (stream: RecordedStream): Promise<void> => {
    await stream.whenEnded();
    stream.sendHeaders();
    await stream.sendData(stream.data);
    stream.trailers(0);
  },
  /** The connection is cut. */
  kill: (stream: RecordedStream): void => stream.connection.kill(),
  /** Never answers. */
  silent: (): void => {},
} as const;
