import { describe, expect, it } from 'vitest';
import { data } from '../../support/frames.js';
import { behave } from '../../support/raw-peer.js';
import { backend, client, method, one, proxyTo } from '../../support/rig.js';

/** More frames than the default --flood-budget has credits. */
const streams = 100;
const tinyMessages = 150;
const tiny = Buffer.concat([Buffer.of(0, 0, 0, 0, 10), Buffer.alloc(10, 't')]);

describe('frames under way on streams that the proxy has reset', () => {
  it('CON-32: a client with 100 server streams of tiny messages is killed; another client’s stream on the same backend connection goes on', async () => {
    const b = await backend({ name: 'b', onStream: (stream) => void stream.sendHeaders() });
    const proxy = await proxyTo([b], { flags: ['--backend-connections', '1'] });
    const [doomed, other] = [await client(proxy), await client(proxy)];
    const kept = other.call(method, { messages: ['x'] });
    const stream = await b.waitForStream(1);
    await kept.whenHeaders();
    const calls = Array.from({ length: streams }, () => doomed.call(method, { messages: ['x'] }));
    await Promise.all(calls.map((call) => call.whenHeaders()));
    expect(b.connections).toHaveLength(1);

    doomed.kill();
    const many = Buffer.concat(Array.from({ length: tinyMessages }, () => tiny));
    for (const { raw, connection, id } of b.streams.slice(1)) {
      expect(await raw.whenReset()).toBe(8);
      // What a backend has in its socket's buffers by then.
      const frames = Array.from({ length: tinyMessages }, (_, i) => data(id, many.subarray(i * 15, i * 15 + 15)));
      connection.send(...frames);
    }
    for (const message of ['still', 'here']) await stream.sendMessage(message);
    stream.trailers(0);
    await kept.done();
    expect([kept.status, kept.messages.map(String)]).toEqual([0, ['still', 'here']]);
    expect(stream.connection.goaways).toEqual([]);
    expect(proxy.changes.map(({ event }) => event)).toEqual(['connected']);
  });

  it('CON-32: a client that uploads tiny messages to a call that has been answered keeps its connection', async () => {
    const { backend: b, client: c } = await one();
    b.behave((stream) => stream.trailersOnly(9));
    const call = c.call(method, { messages: ['x'], end: false });
    expect((await call.done()).status).toBe(9);
    const frames = Array.from({ length: streams * tinyMessages }, () => data(call.id, tiny));
    c.connection.send(...frames);
    b.behave(behave.ok('next'));
    expect((await c.call(method, { messages: ['y'] }).done()).status).toBe(0);
    expect(c.goaways).toEqual([]);
  });
});

describe('GOAWAY from a backend', () => {
  it('CON-31: one that raises its last id changes nothing: calls at or below the lower id finish', async () => {
    const { backend: b, client: c, proxy } = await one();
    b.behave(behave.silent);
    const call = c.call(method, { messages: ['x'] });
    const first = await b.waitForStream(1);
    first.connection.goaway(first.id, 0);
    first.connection.goaway(first.id + 2, 0);
    await first.answer(['done']);
    expect([(await call.done()).status, call.messages.map(String)]).toEqual([0, ['done']]);
    expect(first.connection.goaways.filter(({ code }) => code !== 0)).toEqual([]);
    b.behave(behave.ok('new'));
    expect((await c.call(method, { messages: ['y'] }).done()).status).toBe(0);
    expect(b.streams.map(({ connection }) => b.connections.indexOf(connection))).toEqual([0, 1]);
    expect(proxy.calls.every(({ attempts }) => attempts.length === 1)).toBe(true);
  });
});
