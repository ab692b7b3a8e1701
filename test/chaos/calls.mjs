/** The calls of the chaos, over node:http2: of each everything that its client can see is written down. */
import http2 from 'node:http2';

/** Of every call (ms). */
export const deadline = 20_000;

/** @typedef {import('./checks.d.mts').CallRecord} CallRecord */

function framed(payload) {
  const bytes = Buffer.alloc(5 + payload.length);
  bytes.writeUInt32BE(payload.length, 1);
  payload.copy(bytes, 5);
  return bytes;
}

function text(value) {
  return value === undefined ? null : String(value);
}

/** One client connection to the proxy, opened again when it is lost, which it never should be. */
export class ClientConnection {
  /** What ended connections that nobody had to end. @type {string[]} */
  broken = [];
  #port;
  #session = null;
  #closing = false;

  constructor(port) {
    this.#port = port;
  }

  #open() {
    if (this.#session !== null && !this.#session.closed && !this.#session.destroyed) return this.#session;
    // Node counts what a cancelled stream had still to write for ever (test/soak/calls.mjs).
    const session = http2.connect(`http://127.0.0.1:${this.#port}`, { maxSessionMemory: Number.MAX_SAFE_INTEGER });
    const broke = (why) => {
      if (!this.#closing) this.broken.push(`${new Date().toISOString()} ${why}`);
    };
    session.on('error', (error) => broke(`error ${error.code ?? error.message}`));
    session.on('goaway', (code) => broke(`GOAWAY ${code}`));
    session.on('close', () => broke('closed'));
    this.#session = session;
    return session;
  }

  close() {
    this.#closing = true;
    this.#session?.close();
  }

  /**
   * @param {CallRecord} record filled in as the call goes
   * @param {{ path: string, headers?: Record<string, string>, messages?: number, pace?: number }} what `messages`: of a
   *   stream; `pace`: ms between those that a chat sends
   * @returns {Promise<void>} resolves at the end of the stream
   */
  make(record, { path, headers = {}, messages = 0, pace = 0 }) {
    const stream = this.#open().request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      'grpc-timeout': `${deadline}m`,
      'x-call-id': record.id,
      'x-messages': String(messages),
      ...headers,
    });
    /** @type {Buffer[]} */
    const parts = [];
    const told = (fields) => {
      record.backend = text(fields['hedgerow-backend']) ?? record.backend;
      const code = fields['grpc-status'];
      if (code === undefined) return;
      record.ends += 1;
      record.code = Number(code);
      record.words = decodeURIComponent(text(fields['grpc-message']) ?? '');
      record.retries = Number(fields['hedgerow-retries']);
      record.backends = text(fields['hedgerow-backends']);
      record.reason = text(fields['hedgerow-stop-reason']);
      record.processed = text(fields['hedgerow-processed']);
    };
    stream.on('response', (fields) => {
      // Trailers-Only is no answer in part.
      if (fields['grpc-status'] === undefined) record.headersAt = Date.now();
      record.answeredBy = text(fields['x-answered-by']);
      told(fields);
    });
    stream.on('trailers', told);
    stream.on('data', (part) => parts.push(part));
    stream.on('error', (error) => {
      record.words = error.code ?? error.message;
    });
    const sent = this.#write(stream, record, path, messages, pace);
    return new Promise((resolve) => {
      stream.on('close', () => {
        record.ended = Date.now();
        record.wrong = record.code === 0 ? wrongness(path, Buffer.concat(parts), record, sent, messages) : null;
        resolve();
      });
    });
  }

  #write(stream, record, path, messages, pace) {
    const sent = [];
    const write = (payload) => {
      const message = framed(Buffer.from(payload));
      sent.push(message);
      if (!stream.destroyed && stream.writable) stream.write(message);
    };
    if (!path.endsWith('/Chat')) {
      write(record.id);
      stream.end();
      return sent;
    }
    const timer = setInterval(() => {
      if (stream.destroyed || sent.length === messages) {
        clearInterval(timer);
        if (!stream.destroyed) stream.end();
        return;
      }
      write(`${record.id} ${sent.length}`);
    }, pace);
    stream.on('close', () => clearInterval(timer));
    return sent;
  }
}

/** What is wrong with the content of an answer that ended OK; null: nothing. */
function wrongness(path, got, record, sent, messages) {
  if (path.endsWith('/Download')) {
    if (got.length !== 9 * messages) return `${got.length / 9} of ${messages} messages`;
    for (let i = 0; i < messages; i += 1) if (got.readUInt32BE(9 * i + 5) !== i) return `message ${i} is another`;
    return null;
  }
  if (!got.equals(Buffer.concat(sent))) return `${got.length} bytes that are not what was sent`;
  return record.answeredBy === record.backend ? null : `answered by ${record.answeredBy}, told ${record.backend}`;
}
