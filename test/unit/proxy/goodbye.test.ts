import { describe, expect, it } from 'vitest';
import { createConnection } from '../../../src/http2/connection.js';
import { defaultHttp2Settings } from '../../../src/http2/types.js';
import { sayGoodbye } from '../../../src/proxy/goodbye.js';
import {
  ack,
  endHeaders,
  endStream,
  headers,
  parse,
  ping,
  preface,
  requestLines,
  settings,
  show,
} from '../../support/frames.js';
import { createVirtualTime } from '../../support/virtual-time.js';

/** The server's end of a connection on which one request is open. */
function meet() {
  const connection = createConnection('server', defaultHttp2Settings, {
    onRequest() {},
    onSettings() {},
    onGoaway() {},
    onStreamClosed() {},
    onOutput() {},
    onFailed() {},
  });
  connection.start();
  connection.receive(preface);
  connection.receive(settings());
  const open = (id: number): void => connection.receive(headers(id, requestLines, endHeaders | endStream));
  open(1);
  const said = (): string[] => parse(Buffer.concat(connection.takeOutput())).map(show);
  said();
  const time = createVirtualTime();
  let over = 0;
  const stop = sayGoodbye(connection, time, () => {
    over += 1;
  });
  return { connection, open, said, time, over: () => over, stop };
}

describe('CON-16: a goodbye', () => {
  it('says soon, then after the round trip the last stream that came by then', () => {
    const { connection, open, said, time, over } = meet();
    const first = parse(Buffer.concat(connection.takeOutput()));
    expect(first.map(show).map((line) => line.split(' ')[0])).toEqual(['goaway', 'ping']);
    expect(first.map(show)[0]).toBe(`goaway ${2 ** 31 - 1} 0`);
    open(3);
    expect(over()).toBe(0);
    connection.receive(ping(first[1]?.payload.toString('latin1') ?? '', ack));
    // A client may put its answer before requests that it sends in the same breath.
    open(5);
    expect(over()).toBe(0);
    time.endTurn();
    expect(over()).toBe(1);
    expect(said()).toContain('goaway 5 0');
    expect(time.alarms.pending).toBe(0);
  });

  it('waits a second for the answer, no longer, and says its last word once', () => {
    const { connection, said, time, over } = meet();
    const payload = parse(Buffer.concat(connection.takeOutput()))[1]?.payload.toString('latin1') ?? '';
    time.advance(999);
    expect(over()).toBe(0);
    time.advance(1);
    expect([over(), said()]).toEqual([1, ['goaway 1 0']]);
    connection.receive(ping(payload, ack));
    time.endTurn();
    expect([over(), said()]).toEqual([1, []]);
  });

  it('taken back says nothing more', () => {
    const { said, time, over, stop } = meet();
    said();
    stop();
    time.runOut();
    expect([over(), said(), time.alarms.pending]).toEqual([0, [], 0]);
  });
});
