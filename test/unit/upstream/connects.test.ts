import { describe, expect, it } from 'vitest';
import { Scene } from './fake-link.js';

const at = 'backend b1 at 127.0.0.1:50052';

describe('connects', () => {
  it('opens a connection at start, without a call', () => {
    const scene = new Scene();
    expect(scene.backend.link).toBe('idle');
    scene.backend.start();
    expect(scene.links.length).toBe(1);
    expect(scene.backend.link).toBe('connecting');
    scene.link(0).settings();
    expect(scene.backend.link).toBe('ready');
    expect(scene.backend).toMatchObject({ generation: 1, connections: 1, lastError: null, nextConnectAt: null });
    expect(scene.changes).toEqual([
      {
        id: 'b1',
        name: 'b1',
        address: '127.0.0.1:50052',
        event: 'connected',
        generation: 1,
        detail: `${at}: connected`,
        retryIn: null,
      },
    ]);
    expect(scene.time.alarms.pending).toBe(0);
  });

  it('a call that comes before the start asks for the connection', () => {
    const scene = new Scene();
    const caller = scene.call();
    scene.call();
    expect(scene.links.length).toBe(1);
    scene.link(0).settings();
    expect(caller.heard).toEqual(['opened']);
  });

  it('waits 250 ms after a connect that fails, then × 1.6, up to the maximum', () => {
    const scene = new Scene({ connectBackoffMax: 1200 });
    scene.backend.start();
    const waits: number[] = [];
    for (let i = 0; i < 6; i += 1) {
      scene.link(i).close('connect refused (ECONNREFUSED)');
      expect(scene.backend.link).toBe('backoff');
      expect(scene.backend.nextConnectAt).toBeGreaterThan(scene.time.clock.now());
      waits.push(scene.untilConnect(i + 2));
    }
    expect(waits).toEqual([250, 400, 640, 1000, 1000, 1000]);
  });

  it('names backend, address and cause of a connect that fails, and when the next one comes', () => {
    const scene = new Scene();
    scene.backend.start();
    const caller = scene.call();
    scene.link(0).close('connect refused (ECONNREFUSED)');
    const words = `${at}: connect refused (ECONNREFUSED)`;
    expect(caller.heard).toEqual([`failed: connect: ${words}`]);
    expect(scene.backend.lastError).toBe(words);
    expect(scene.changes).toMatchObject([{ event: 'connect_failed', generation: 0, detail: words, retryIn: 250 }]);
  });

  it('counts as in backoff until a connect succeeds, also while the next one is under way', () => {
    const scene = new Scene();
    scene.backend.start();
    scene.link(0).close('connect refused (ECONNREFUSED)');
    scene.time.advance(250);
    expect(scene.links.length).toBe(2);
    expect(scene.backend).toMatchObject({ link: 'backoff', nextConnectAt: null });
    scene.link(1).settings();
    expect(scene.backend).toMatchObject({ link: 'ready', lastError: null });
  });

  it('begins the waits anew after a connection that came up', () => {
    const scene = new Scene();
    scene.backend.start();
    for (let i = 0; i < 3; i += 1) {
      scene.link(i).close('connect refused (ECONNREFUSED)');
      scene.untilConnect(i + 2);
    }
    scene.link(3).settings();
    scene.link(3).lose('reset');
    scene.link(4).close('connect refused (ECONNREFUSED)');
    expect(scene.untilConnect(6)).toBe(250);
  });

  it('gives up a connect after the timeout and says what it waited for', () => {
    const scene = new Scene({ connectTimeout: 500 });
    scene.backend.start();
    const caller = scene.call();
    scene.link(0).stage = 'HTTP/2 SETTINGS';
    scene.time.advance(499);
    expect(caller.heard).toEqual([]);
    scene.time.advance(1);
    const words = 'connect timed out after 500 ms, waiting for HTTP/2 SETTINGS';
    expect(caller.heard).toEqual([`failed: connect: ${at}: ${words}`]);
    expect(scene.link(0).asked).toEqual([`destroy: ${words}`]);
    expect(scene.backend.link).toBe('backoff');
    // Its socket closes later: nothing is counted twice.
    scene.link(0).close(words);
    expect(scene.untilConnect(2)).toBe(250);
  });

  it('SETTINGS after the timeout change nothing', () => {
    const scene = new Scene({ connectTimeout: 500 });
    scene.backend.start();
    scene.time.advance(500);
    scene.link(0).settings();
    expect(scene.backend).toMatchObject({ link: 'backoff', generation: 0, connections: 0 });
  });

  it('a peer that breaks HTTP/2 before its SETTINGS is a connect that failed, once', () => {
    const scene = new Scene();
    scene.backend.start();
    const caller = scene.call();
    scene.link(0).events.onFailed('it does not speak HTTP/2');
    scene.link(0).close('it does not speak HTTP/2');
    expect(caller.heard).toEqual([`failed: connect: ${at}: it does not speak HTTP/2`]);
    expect(scene.untilConnect(2)).toBe(250);
  });
});

describe('reconnects', () => {
  it('BR-64: connects at once after a connection that carried a call', () => {
    const scene = Scene.up();
    for (let i = 0; i < 5; i += 1) {
      scene.finish(scene.call());
      scene.link(i).lose('the connection was reset by the peer');
      expect(scene.links.length).toBe(i + 2);
      expect(scene.backend.link).toBe('connecting');
      scene.link(i + 1).settings();
    }
    expect(scene.backend.generation).toBe(6);
  });

  it('connects at once after a connection that lived for a second', () => {
    const scene = Scene.up();
    for (let i = 0; i < 5; i += 1) {
      scene.time.advance(1000);
      scene.link(i).lose('the peer closed the connection');
      expect(scene.links.length).toBe(i + 2);
      scene.link(i + 1).settings();
    }
  });

  it('BR-31: a peer that accepts and ends the connection at each call is connected to ever more slowly', () => {
    const scene = Scene.up();
    const until = scene.time.clock.now() + 2000;
    while (scene.time.clock.now() < until) {
      const link = scene.links.at(-1);
      if (link !== undefined && !link.settled) link.settings();
      if (scene.backend.link === 'ready') {
        const caller = scene.call();
        link?.lose('the peer closed the connection');
        expect(caller.heard).toEqual(['opened', 'end: lost']);
      }
      scene.time.advance(1);
    }
    expect(scene.links.length).toBeGreaterThan(3);
    expect(scene.links.length).toBeLessThan(10);
  });

  it('BR-31: a first connection of no use is made good at once, the next after 250 ms and × 1.6', () => {
    const scene = Scene.up();
    const waits: number[] = [];
    for (let i = 0; i < 5; i += 1) {
      scene.link(i).lose('the peer closed the connection');
      waits.push(scene.untilConnect(i + 2));
      scene.link(i + 1).settings();
    }
    expect(waits).toEqual([0, 250, 400, 640, 1024]);
    scene.finish(scene.call());
    scene.link(5).lose('the peer closed the connection');
    expect(scene.untilConnect(7)).toBe(0);
  });

  it('BR-31: a call placed again at the very moment of a loss does not get round the wait', () => {
    const scene = Scene.up();
    scene.link(0).lose('closed');
    scene.link(1).settings();
    const caller = scene.call();
    caller.during = (what) => {
      if (what === 'end: lost') scene.backend.wait(caller);
    };
    scene.link(1).lose('closed');
    expect(scene.links.length).toBe(2);
    expect(scene.backend.link).toBe('backoff');
    expect(scene.untilConnect(3)).toBe(250);
    scene.link(2).settings();
    expect(caller.heard).toEqual(['opened', 'end: lost', 'opened']);
  });

  it('a call placed again at the very moment of a loss waits for the next connection, and hears nothing of that loss', () => {
    const scene = Scene.up();
    scene.finish(scene.call());
    const caller = scene.call();
    caller.during = (what) => {
      if (what === 'end: lost') scene.backend.wait(caller);
    };
    scene.link(0).lose('closed');
    expect(scene.links.length).toBe(2);
    scene.link(1).settings();
    expect(caller.heard).toEqual(['opened', 'end: lost', 'opened']);
  });

  it('is not ready from the moment that its connection fails, before the socket is closed', () => {
    const scene = Scene.up();
    const caller = scene.call();
    const seen: string[] = [];
    caller.during = () => seen.push(scene.backend.link);
    scene.link(0).lose('reset');
    expect(seen).toEqual(['connecting']);
  });

  it('D19: a late event of an old connection touches nothing of the new one', () => {
    const scene = Scene.up();
    scene.finish(scene.call());
    scene.link(0).events.onFailed('PROTOCOL_ERROR');
    scene.link(1).settings();
    const caller = scene.call();
    scene.link(0).events.onGoaway(0, '');
    scene.link(0).events.onSettings(scene.link(0));
    scene.link(0).close('closed');
    expect(scene.backend).toMatchObject({ link: 'ready', generation: 2, connections: 1, inFlight: 1 });
    expect(caller.heard).toEqual(['opened']);
    expect(scene.changes.map(({ event, generation }) => [event, generation])).toEqual([
      ['connected', 1],
      ['lost', 1],
      ['connected', 2],
    ]);
  });

  it('CON-23: connects the successor of one whose stream identifiers run out before they do, so that no call waits', () => {
    const scene = Scene.up(100, { streamsPerConnection: 6, backendConnections: 1 });
    const [first, second] = [scene.call(), scene.call()];
    expect(scene.links.length).toBe(1);
    const third = scene.call();
    expect(scene.links.length).toBe(2);
    // Until it is up the old one goes on.
    const fourth = scene.call();
    expect(fourth.connection).toBe(scene.link(0));
    expect(scene.backend).toMatchObject({ link: 'ready', connections: 1 });
    scene.link(1).settings();
    expect(scene.backend).toMatchObject({ link: 'ready', connections: 1, inFlight: 4 });
    expect(scene.call().connection).toBe(scene.link(1));
    scene.finish(first, second, third);
    expect(scene.link(0).asked).toEqual([]);
    scene.finish(fourth);
    expect(scene.link(0).asked).toEqual(['end']);
  });

  it('a successor that cannot be connected is tried again, and troubles nobody while identifiers are left', () => {
    const scene = Scene.up(100, { streamsPerConnection: 6 });
    const calls = [scene.call(), scene.call(), scene.call()];
    scene.link(1).close('connect refused (ECONNREFUSED)');
    calls.push(scene.call());
    expect(scene.untilConnect(3)).toBe(250);
    scene.link(2).settings();
    expect(scene.call().connection).toBe(scene.link(2));
    expect(calls.map(({ heard }) => heard)).toEqual([['opened'], ['opened'], ['opened'], ['opened']]);
  });

  it('replaces a connection whose stream identifiers run out, without a loss', () => {
    const scene = Scene.up(100, { streamsPerConnection: 2 });
    const first = scene.call();
    const second = scene.call();
    expect(scene.backend).toMatchObject({ connections: 0, link: 'connecting', inFlight: 2 });
    scene.link(1).settings();
    const third = scene.call();
    expect(third.connection).toBe(scene.link(1));
    scene.finish(first, second);
    expect(scene.link(0).asked).toEqual(['end']);
    expect([first, second, third].map(({ heard }) => heard)).toEqual([['opened'], ['opened'], ['opened']]);
    // Each time at once: it was of use.
    for (let i = 1; i < 5; i += 1) {
      while (scene.backend.connections > 0) scene.call();
      scene.link(i + 1).settings();
    }
  });
});
