/** What became of a connection's streams, in plain numbers (gRFC A14, SocketData). */
export class StreamCounts {
  /** Their HEADERS have been sent or have come. */
  started = 0;
  /** The answer came whole (client role), or was sent whole: to its END_STREAM. */
  succeeded = 0;
  /** Ended otherwise. */
  failed = 0;
  /** When the peer opened the last one (server role; clock ms); null: it has opened none. */
  lastOpenedAt: number | null = null;
  private readonly client: boolean;

  /** @param client the role: who opens the streams */
  constructor(client: boolean) {
    this.client = client;
  }

  /** A stream ends that has an id. */
  ended(stream: { readonly sendClosed: boolean; readonly receiveClosed: boolean }): void {
    if (this.client ? stream.receiveClosed : stream.sendClosed) this.succeeded += 1;
    else this.failed += 1;
  }
}
