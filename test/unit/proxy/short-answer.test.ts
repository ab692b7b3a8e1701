import { describe, expect, it } from 'vitest';
import { answerShort } from '../../../src/proxy/short-answer.js';
import { data, endHeaders, endStream, headers, requestLines, settings, windowUpdate } from '../../support/frames.js';
import { fields, Recorder } from '../../support/recorder.js';

const text = 'Only POST is served here.\n';
const head = fields([[':status', '405']]);

/** A server that answers each request so. */
function server(window = 65_535): Recorder {
  const core = Recorder.ready('server', {}, [[4, window]]);
  core.during = (event, stream) => {
    if (event.startsWith('request') && stream !== null) answerShort(core.connection, stream, head, text);
  };
  return core;
}

describe('the answer to what is not gRPC', () => {
  it('comes at once, and closes a stream whose request has ended', () => {
    const core = server();
    core.receive(headers(1, requestLines, endHeaders | endStream));
    expect(core.sent()).toEqual(['headers 1', `data 1 ${JSON.stringify(text)} end`]);
    expect(core.connection.openStreams).toBe(0);
  });

  it('waits for the window of a client that has none', () => {
    const core = server(0);
    core.receive(headers(1, requestLines, endHeaders | endStream));
    expect(core.sent()).toEqual(['headers 1']);
    core.receive(windowUpdate(1, 1));
    expect(core.sent()).toEqual([`data 1 ${JSON.stringify(text.slice(0, 1))}`]);
    core.receive(settings([4, 100]));
    expect(core.sent()).toEqual(['settings ack', `data 1 ${JSON.stringify(text.slice(1))} end`]);
  });

  it('leaves a request time to end, without window for more', () => {
    const core = server();
    core.receive(headers(1, requestLines));
    core.receive(...Array.from({ length: 4 }, () => data(1, Buffer.alloc(16_384))), data(1, '', endStream));
    expect(core.sent()).toEqual(['headers 1', `data 1 ${JSON.stringify(text)} end`]);
    expect(core.connection.openStreams).toBe(0);
  });

  it('tells a client that goes on beyond 64 KiB to stop', () => {
    const core = server();
    core.receive(headers(1, requestLines));
    core.receive(...Array.from({ length: 4 }, () => data(1, Buffer.alloc(16_384))));
    core.frames();
    core.receive(data(1, 'x'));
    expect(core.sent()).toEqual(['reset 1 0']);
    expect(core.connection.openStreams).toBe(0);
  });

  it('does not hide that the request is malformed (RFC 9113 8.1.1)', () => {
    const core = server();
    core.receive(headers(1, [...requestLines, ['content-length', '1']]));
    core.frames();
    core.receive(data(1, 'ab'));
    expect(core.sent()).toEqual(['reset 1 1']);
  });

  it('is a reset where the client takes no header list that large', () => {
    const core = Recorder.ready('server', {}, [[6, 10]]);
    core.during = (event, stream) => {
      if (event.startsWith('request') && stream !== null) answerShort(core.connection, stream, head, text);
    };
    core.receive(headers(1, requestLines));
    expect(core.sent()).toEqual(['reset 1 0']);
  });
});
