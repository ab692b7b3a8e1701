/** Answers larger than a frame, within the peer's windows, stream by stream in turn. For the backend. */
import { flag, frame, type } from './wire.mjs';

const frameSize = 16_384;
/** Bytes in the socket's own buffer from which on no more is given to it. */
const full = 1 << 20;

export class LargeAnswers {
  /** SETTINGS_INITIAL_WINDOW_SIZE of the peer. */
  initialWindow = 65_535;
  connectionWindow = 65_535;
  /** Window updates that came before the answer began. @type {Map<number, number>} */
  #extra = new Map();
  /** @type {Map<number, { at: number, window: number, tail: Buffer }>} */
  #open = new Map();

  /** @param {import('node:net').Socket} socket @param {Buffer} body */
  constructor(socket, body) {
    this.socket = socket;
    this.body = body;
    socket.on('drain', () => this.go());
  }

  /** @param {number} stream @param {Buffer} head frames before the body @param {Buffer} tail frames after it */
  begin(stream, head, tail) {
    const window = this.initialWindow + (this.#extra.get(stream) ?? 0);
    this.#extra.delete(stream);
    this.socket.write(head);
    this.#open.set(stream, { at: 0, window, tail });
  }

  /** @param {number} stream 0: the connection @param {number} bytes */
  widen(stream, bytes) {
    const open = this.#open.get(stream);
    if (stream === 0) this.connectionWindow += bytes;
    else if (open !== undefined) open.window += bytes;
    else this.#extra.set(stream, (this.#extra.get(stream) ?? 0) + bytes);
  }

  /** Sends what may be sent now. */
  go() {
    const { socket, body } = this;
    socket.cork();
    for (let moved = true; moved; ) {
      moved = false;
      for (const [stream, answer] of this.#open) {
        const size = Math.min(frameSize, body.length - answer.at, answer.window, this.connectionWindow);
        if (size <= 0 || socket.writableLength >= full) continue;
        const header = frame(type.data, 0, stream, Buffer.alloc(0));
        header.writeUIntBE(size, 0, 3);
        socket.write(header);
        socket.write(body.subarray(answer.at, answer.at + size));
        answer.at += size;
        answer.window -= size;
        this.connectionWindow -= size;
        moved = true;
        if (answer.at < body.length) continue;
        socket.write(answer.tail);
        this.#open.delete(stream);
        // What came for it from now on is not kept: ids are not used again.
        this.#extra.delete(stream);
      }
    }
    socket.uncork();
  }
}

/** @param {number} stream @param {Buffer} block */
export function headersFrame(stream, block, end = false) {
  return frame(type.headers, flag.endHeaders | (end ? flag.end : 0), stream, block);
}
