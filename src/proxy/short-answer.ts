import type { MetadataField } from '../grpc/metadata.js';
import { ErrorCode, type Http2Connection, type Http2Stream, type StreamEvents } from '../http2/types.js';

/** Bytes of a request's body that are read and dropped before its client is told to stop. */
const patience = 64 * 1024;

/**
 * Answers a request that is not gRPC with a short text. The text waits for the client's window. What still comes of the
 * request is read and dropped, so that a client that has not ended it is not cut short, and its mistakes are told as such
 * (RFC 9113 8.1.1); after `patience` it is told to stop (RFC 9113 8.1).
 */
export function answerShort(
  connection: Http2Connection,
  stream: Http2Stream,
  fields: readonly MetadataField[],
  text: string,
): void {
  const answer = new ShortAnswer(connection, Buffer.from(text, 'utf8'));
  stream.events = answer;
  if (!connection.sendHeaders(stream, fields, false)) connection.reset(stream, ErrorCode.NO_ERROR);
  else answer.onWritable(stream);
}

class ShortAnswer implements StreamEvents {
  private readonly connection: Http2Connection;
  private readonly body: Buffer;
  private sent = 0;
  private dropped = 0;

  constructor(connection: Http2Connection, body: Buffer) {
    this.connection = connection;
    this.body = body;
  }

  onHeaders(): void {}

  onTrailers(): void {}

  onData(stream: Http2Stream, _chunk: Uint8Array, start: number, end: number): void {
    this.dropped += end - start;
    if (this.dropped > patience) this.connection.reset(stream, ErrorCode.NO_ERROR);
  }

  onWritable(stream: Http2Stream): void {
    this.sent += this.connection.sendData(stream, this.body, this.sent, this.body.length, true);
  }

  onEnd(): void {}
}
