import { describe, expect, it } from 'vitest';
import { type Caller, Scene } from './fake-link.js';

const at = 'backend b1 at 127.0.0.1:50052';

function opened(callers: readonly Caller[]): boolean[] {
  return callers.map(({ heard }) => heard.includes('opened'));
}

describe('streams within the peer’s limit', () => {
  it('BR-68: opens further connections one by one while calls wait, then queues in order of arrival', () => {
    const scene = Scene.up(1, { backendConnections: 3 });
    const callers = Array.from({ length: 5 }, () => scene.call());
    expect(opened(callers)).toEqual([true, false, false, false, false]);
    expect(scene.links.length).toBe(2);
    scene.link(1).settings(1);
    expect(scene.links.length).toBe(3);
    scene.link(2).settings(1);
    expect(scene.links.length).toBe(3);
    expect(opened(callers)).toEqual([true, true, true, false, false]);
    expect(scene.backend).toMatchObject({ connections: 3, inFlight: 3, queued: 2, link: 'busy' });
    const [first, second, third, fourth, fifth] = callers as [Caller, Caller, Caller, Caller, Caller];
    scene.finish(third);
    expect(opened([fourth, fifth])).toEqual([true, false]);
    scene.finish(first);
    expect(opened([fifth])).toEqual([true]);
    scene.finish(second, fourth, fifth);
    expect(scene.backend).toMatchObject({ inFlight: 0, queued: 0 });
  });

  it('opens no further connection where the first has room', () => {
    const scene = Scene.up(100);
    for (let i = 0; i < 100; i += 1) scene.call();
    expect(scene.links.length).toBe(1);
    scene.call();
    expect(scene.links.length).toBe(2);
  });

  it('nobody overtakes those who wait, not even at the moment that a stream ends', () => {
    const scene = Scene.up(1, { backendConnections: 1 });
    const first = scene.call();
    const waiting = scene.call();
    let newcomer: Caller | null = null;
    first.during = (what) => {
      if (what.startsWith('end')) newcomer = scene.call();
    };
    scene.link(0).finish(first.stream ?? undefined, { kind: 'reset', code: 8 });
    expect(opened([waiting])).toEqual([true]);
    expect(newcomer).toMatchObject({ heard: [] });
    scene.finish(waiting);
    expect(newcomer).toMatchObject({ heard: ['opened'] });
  });

  it('a cancelled waiter leaves no trace', () => {
    const scene = Scene.up(1, { backendConnections: 1 });
    const first = scene.call();
    const gone = scene.call();
    const last = scene.call();
    scene.backend.cancel(gone);
    scene.backend.cancel(gone);
    expect(scene.backend.queued).toBe(1);
    scene.finish(first);
    expect(gone.heard).toEqual([]);
    expect(last.heard).toEqual(['opened']);
  });

  it('is full when the queue is, and ready again when it is not', () => {
    const scene = Scene.up(1, { backendConnections: 1, queueLimit: 2 });
    const first = scene.call();
    scene.call();
    expect(scene.backend.link).toBe('busy');
    scene.call();
    expect(scene.backend.link).toBe('full');
    scene.finish(first);
    expect(scene.backend.link).toBe('busy');
  });

  it('is full while it connects, too', () => {
    const scene = new Scene({ queueLimit: 1 });
    scene.backend.start();
    scene.call();
    expect(scene.backend.link).toBe('full');
  });

  it('a waiter that ends its stream at once frees it for the next', () => {
    const scene = new Scene({ backendConnections: 1 });
    scene.backend.start();
    const callers = Array.from({ length: 20_000 }, () => scene.call());
    for (const caller of callers) caller.during = () => scene.finish(caller);
    scene.link(0).settings(1);
    expect(opened(callers).every(Boolean)).toBe(true);
    expect(scene.backend).toMatchObject({ inFlight: 0, queued: 0 });
  });

  it('a peer that permits no streams is up, and calls wait until it permits one', () => {
    const scene = Scene.up(0, { backendConnections: 2 });
    const caller = scene.call();
    expect(scene.backend.link).toBe('busy');
    scene.link(1).settings(0);
    scene.time.advance(60_000);
    expect(scene.links.length).toBe(2);
    expect(caller.heard).toEqual([]);
    scene.link(0).settings(1);
    expect(caller.heard).toEqual(['opened']);
  });

  it('takes the connection with the fewest streams, of those with room', () => {
    const scene = Scene.up(2);
    const [first, second] = [scene.call(), scene.call(), scene.call()];
    scene.link(1).settings(2);
    expect(scene.backend.inFlight).toBe(3);
    scene.finish(first as Caller, second as Caller);
    expect(scene.call().connection).toBe(scene.link(0));
    expect(scene.call().connection).toBe(scene.link(0));
    expect(scene.call().connection).toBe(scene.link(1));
  });

  it('closes a connection beyond the first that no call uses, within two seconds', () => {
    const scene = Scene.up(1);
    const callers = [scene.call(), scene.call(), scene.call()];
    scene.link(1).settings(1);
    scene.link(2).settings(1);
    scene.time.advance(10_000);
    expect(scene.backend.connections).toBe(3);
    scene.finish(...callers);
    scene.time.advance(2000);
    expect(scene.backend).toMatchObject({ connections: 1, link: 'ready' });
    expect(scene.links.map(({ asked }) => asked)).toEqual([[], ['end'], ['end']]);
    expect(scene.links.length).toBe(3);
    expect(scene.time.alarms.pending).toBe(0);
  });

  it('closes the second of two the same way, however often the number of connections changed meanwhile', () => {
    const scene = Scene.up(1);
    const callers = [scene.call(), scene.call(), scene.call()];
    scene.link(1).settings(1);
    scene.time.advance(500);
    scene.link(2).settings(1);
    expect(scene.time.alarms.pending).toBe(1);
    scene.link(2).lose('reset');
    scene.finish(...callers.slice(0, 2));
    scene.time.advance(2000);
    expect(scene.links.map(({ asked }) => asked)).toEqual([[], ['end'], []]);
    expect(scene.backend.connections).toBe(1);
  });

  it('a connection beyond the first that calls keep using stays', () => {
    const scene = Scene.up(1);
    const lasting = scene.call();
    scene.call();
    scene.link(1).settings(1);
    const [, second] = [lasting, scene.links[1]?.streams[0]];
    scene.link(1).finish(second);
    for (let i = 0; i < 40; i += 1) {
      scene.time.advance(100);
      scene.finish(scene.call());
    }
    expect(scene.backend.connections).toBe(2);
    expect(scene.links.length).toBe(2);
  });

  it('a further connect that fails troubles nobody who waits, and is tried again after a wait', () => {
    const scene = Scene.up(1);
    const first = scene.call();
    const waiting = scene.call();
    scene.link(1).close('connect refused (ECONNREFUSED)');
    expect(waiting.heard).toEqual([]);
    expect(scene.backend).toMatchObject({ link: 'busy', nextConnectAt: null });
    expect(scene.untilConnect(3)).toBe(250);
    scene.finish(first);
    expect(waiting.heard).toEqual(['opened']);
  });
});

it('waits before a further connect count from the connection that came up last', () => {
  const scene = new Scene();
  scene.backend.start();
  for (let i = 0; i < 3; i += 1) {
    scene.link(i).close('connect refused (ECONNREFUSED)');
    scene.untilConnect(i + 2);
  }
  scene.link(3).settings(1);
  scene.call();
  scene.call();
  scene.link(4).close('connect refused (ECONNREFUSED)');
  expect(scene.untilConnect(6)).toBe(250);
});

describe('loss', () => {
  it('D12: those who waited behind the stream limit are told lost when the last connection is', () => {
    const scene = Scene.up(1, { backendConnections: 1 });
    const first = scene.call();
    const waiting = [scene.call(), scene.call()];
    scene.link(0).lose('the connection was reset by the peer');
    expect(first.heard).toEqual(['opened', 'end: lost']);
    for (const { heard } of waiting)
      expect(heard).toEqual([`failed: lost: ${at}: the connection was reset by the peer`]);
    expect(scene.backend).toMatchObject({ queued: 0, inFlight: 0, connections: 0 });
    expect(scene.changes.at(-1)).toMatchObject({ event: 'lost', generation: 1 });
  });

  it('those who wait keep their places while another connection is up', () => {
    const scene = Scene.up(1, { backendConnections: 2 });
    scene.call();
    const second = scene.call();
    scene.link(1).settings(1);
    const waiting = scene.call();
    scene.link(0).lose('reset');
    expect(waiting.heard).toEqual([]);
    expect(scene.links.length).toBe(3);
    scene.finish(second);
    expect(waiting.heard).toEqual(['opened']);
  });

  it('who is told and comes back at once waits for the next connection, and is not told twice', () => {
    const scene = Scene.up(1, { backendConnections: 1 });
    scene.finish(scene.call());
    scene.call();
    const waiting = scene.call();
    waiting.during = (what) => {
      if (what.startsWith('failed')) scene.backend.wait(waiting);
    };
    scene.link(0).lose('reset');
    expect(waiting.heard.length).toBe(1);
    scene.link(1).settings(1);
    expect(waiting.heard.length).toBe(2);
    expect(waiting.heard[1]).toBe('opened');
  });

  it('one that is cancelled while others are told hears nothing', () => {
    const scene = Scene.up(1, { backendConnections: 1 });
    scene.call();
    const waiting = scene.call();
    const cancelled = scene.call();
    waiting.during = () => scene.backend.cancel(cancelled);
    scene.link(0).lose('reset');
    expect(waiting.heard.length).toBe(1);
    expect(cancelled.heard).toEqual([]);
  });

  it('CON-14: a connection that the peer broke takes no stream, though its socket is still open', () => {
    const scene = Scene.up();
    scene.finish(scene.call());
    scene.link(0).stopped = true;
    scene.link(0).events.onFailed('DATA on idle stream 2');
    expect(scene.backend.link).toBe('connecting');
    expect(scene.backend.lastError).toBe(`${at}: DATA on idle stream 2`);
    const caller = scene.call();
    scene.link(0).close('closed');
    expect(caller.heard).toEqual([]);
    scene.link(1).settings();
    expect(caller.heard).toEqual(['opened']);
  });
});

describe('GOAWAY', () => {
  it('BR-66: streams under way finish, new calls wait for the next connection, the old one closes with its last stream', () => {
    const scene = Scene.up();
    const [long, short] = [scene.call(), scene.call()];
    scene.link(0).goaway(2 ** 31 - 1, 0, 'max age');
    expect(scene.links.length).toBe(2);
    const next = scene.call();
    expect(next.heard).toEqual([]);
    scene.link(1).settings();
    expect(next.connection).toBe(scene.link(1));
    scene.finish(short);
    expect(scene.link(0).asked).toEqual([]);
    expect(scene.backend).toMatchObject({ connections: 1, inFlight: 2 });
    scene.finish(long);
    expect(scene.link(0).asked).toEqual(['end']);
    scene.link(0).close('the connection was closed by us');
    expect([long, short, next].map(({ heard }) => heard)).toEqual([['opened'], ['opened'], ['opened']]);
    expect(scene.changes.map(({ event }) => event)).toEqual(['connected', 'draining', 'connected', 'closed']);
    expect(scene.changes[1]?.detail).toBe(`${at}: the backend sent GOAWAY with code 0 (max age)`);
    expect(scene.backend.lastError).toBe(null);
  });

  it('an idle connection closes at once', () => {
    const scene = Scene.up();
    scene.link(0).goaway(0);
    expect(scene.link(0).asked).toEqual(['end']);
    expect(scene.links.length).toBe(2);
    expect(scene.changes.at(-1)).toMatchObject({
      event: 'draining',
      detail: `${at}: the backend sent GOAWAY with code 0`,
      retryIn: null,
    });
  });

  it('of one connection while another is up: those who wait keep their places, even if a new connect has to wait', () => {
    const scene = Scene.up(1);
    const first = scene.call();
    const waiting = scene.call();
    for (let i = 1; i <= 2; i += 1) {
      scene.untilConnect(i + 1);
      scene.link(i).settings(0);
      scene.link(i).goaway(0);
    }
    expect(waiting.heard).toEqual([]);
    expect(scene.backend.link).toBe('busy');
    expect(scene.changes.at(-1)).toMatchObject({ event: 'draining', retryIn: 250 });
    scene.finish(first);
    expect(waiting.heard).toEqual(['opened']);
  });

  it('CON-04: a second GOAWAY changes nothing but the streams above its last id', () => {
    const scene = Scene.up();
    const [first, second] = [scene.call(), scene.call()];
    scene.link(0).goaway(2 ** 31 - 1);
    scene.link(0).goaway(1);
    expect(first.heard).toEqual(['opened']);
    expect(second.heard).toEqual(['opened', 'end: goaway']);
    expect(scene.links.length).toBe(2);
  });

  it('BR-67: a peer that rotates after every few streams is followed at once, each time', () => {
    const scene = Scene.up();
    for (let i = 0; i < 20; i += 1) {
      const callers = [scene.call(), scene.call()];
      scene.link(i).goaway(3);
      expect(scene.links.length).toBe(i + 2);
      scene.link(i + 1).settings();
      scene.finish(...callers);
    }
  });

  it('BR-31: a peer that says GOAWAY to each connection and takes no stream is not followed in a hot loop', () => {
    const scene = Scene.up();
    scene.link(0).goaway(0);
    scene.link(1).settings();
    scene.link(1).goaway(0);
    expect(scene.backend.link).toBe('backoff');
    expect(scene.untilConnect(3)).toBe(250);
  });

  it('those who wait keep their places', () => {
    const scene = Scene.up(1, { backendConnections: 1 });
    const first = scene.call();
    const waiting = [scene.call(), scene.call()];
    scene.link(0).goaway(1);
    scene.link(1).settings(1);
    expect(opened(waiting)).toEqual([true, false]);
    scene.finish(first);
    expect(opened(waiting)).toEqual([true, false]);
  });

  it('a connect that fails after it is told to those who wait', () => {
    const scene = Scene.up(1, { backendConnections: 1 });
    scene.call();
    const waiting = scene.call();
    scene.link(0).goaway(1);
    scene.link(1).close('connect refused (ECONNREFUSED)');
    expect(waiting.heard).toEqual([`failed: connect: ${at}: connect refused (ECONNREFUSED)`]);
  });

  it('where the next connect has to wait, those who wait for a stream are told', () => {
    const scene = Scene.up(0);
    scene.link(0).goaway(0);
    scene.link(1).settings(0);
    const waiting = scene.call();
    scene.link(1).goaway(0, 11, 'calm');
    expect(waiting.heard).toEqual([`failed: lost: ${at}: the backend sent GOAWAY with code 11 (calm)`]);
  });
});

describe('stop', () => {
  it('D35: open streams end, no new one opens, then the connection closes', () => {
    const scene = Scene.up();
    const caller = scene.call();
    scene.backend.stop();
    expect(scene.backend.link).toBe('backoff');
    expect(scene.stopped).toBe(0);
    scene.finish(caller);
    expect(scene.link(0).asked).toEqual(['end']);
    scene.link(0).close('the connection was closed by us');
    scene.backend.stop();
    expect(scene.stopped).toBe(1);
    expect(caller.heard).toEqual(['opened']);
    scene.time.runOut();
    expect(scene.links.length).toBe(1);
  });

  it('those who wait are told, later ones at the end of their turn', () => {
    const scene = Scene.up(1, { backendConnections: 1, queueLimit: 1 });
    scene.call();
    const waiting = scene.call();
    scene.backend.stop();
    expect(waiting.heard).toEqual([`failed: closed: ${at}: the backend takes no more calls`]);
    const late = scene.call();
    expect(late.heard).toEqual([]);
    expect(scene.backend.link).toBe('backoff');
    scene.time.endTurn();
    expect(late.heard).toEqual([`failed: closed: ${at}: the backend takes no more calls`]);
  });

  it('ends a connect under way, and a wait for the next one', () => {
    const connecting = new Scene();
    connecting.backend.start();
    connecting.backend.stop();
    expect(connecting.link(0).asked).toEqual(['destroy: the backend takes no more calls']);
    connecting.link(0).close('closed');
    expect(connecting.stopped).toBe(1);
    const waiting = new Scene();
    waiting.backend.start();
    waiting.link(0).close('connect refused (ECONNREFUSED)');
    waiting.backend.stop();
    expect(waiting.stopped).toBe(1);
    for (const { time, links } of [connecting, waiting]) {
      expect(time.alarms.pending).toBe(0);
      expect(links.length).toBe(1);
    }
  });

  it('lose ends streams that are still open', () => {
    const scene = Scene.up();
    const caller = scene.call();
    scene.backend.stop();
    scene.backend.lose('too late');
    expect(caller.heard).toEqual(['opened', 'end: lost']);
    expect(scene.link(0).asked).toContain('destroy: too late');
  });
});
