import { describe, expect, it } from 'vitest';
import { type FakeLink, Scene } from './fake-link.js';

const at = 'backend b1 at 127.0.0.1:50052';
const keepalive = { time: 10_000, timeout: 5000, maxPings: 3 };
const lost = 'no answer to a keepalive PING within 5000 ms';

function answer(scene: Scene, link: FakeLink): void {
  link.lastReadAt = scene.time.clock.now();
  const onAck = link.pings.shift();
  if (onAck === undefined) throw new Error('there is no PING to answer');
  onAck();
}

function hear(scene: Scene, link: FakeLink): void {
  link.lastReadAt = scene.time.clock.now();
}

describe('a connection with a call that is silent', () => {
  it('CON-17: is asked after the silence, and lost with every call on it in the turn in which the answer is late', () => {
    const scene = Scene.up(100, { keepalive });
    const calls = [scene.call(), scene.call()];
    scene.time.advance(9999);
    expect(scene.link(0).pings.length).toBe(0);
    scene.time.advance(1);
    expect(scene.link(0).pings.length).toBe(1);
    scene.time.advance(4999);
    expect(calls.map(({ heard }) => heard.length)).toEqual([1, 1]);
    scene.time.advance(1);
    for (const { heard } of calls) expect(heard).toEqual(['opened', 'end: lost']);
    expect(scene.link(0).asked).toEqual(['read on', `destroy: ${lost}`]);
    expect(scene.changes.at(-1)).toMatchObject({ event: 'lost', generation: 1, detail: `${at}: ${lost}` });
    // The next one is connected at once, before the old socket says that it is closed.
    expect(scene.links.length).toBe(2);
    expect(scene.backend.link).toBe('connecting');
    scene.link(0).close(lost);
    expect(scene.changes.length).toBe(2);
  });

  it('that answers is asked three times, then no more for five minutes', () => {
    const scene = Scene.up(100, { keepalive });
    const call = scene.call();
    for (let i = 0; i < 3; i += 1) {
      scene.time.advance(10_000);
      answer(scene, scene.link(0));
    }
    scene.time.advance(299_999);
    expect(scene.link(0).pings.length).toBe(0);
    scene.time.advance(1);
    expect(scene.link(0).pings.length).toBe(1);
    expect(call.heard).toEqual(['opened']);
  });

  it('is asked by the interval where that is shorter than the time for an answer, which stays what it is', () => {
    const scene = Scene.up(100, { keepalive: { time: 1000, timeout: 5000, maxPings: 0 } });
    const call = scene.call();
    for (let i = 0; i < 4; i += 1) {
      scene.time.advance(1000);
      expect(scene.link(0).pings.length).toBe(1);
      answer(scene, scene.link(0));
    }
    scene.time.advance(5999);
    expect([scene.link(0).pings.length, call.heard.length]).toEqual([1, 1]);
    scene.time.advance(1);
    expect(call.heard).toEqual(['opened', 'end: lost']);
  });

  it('CON-17: is not lost while we do not read from it, as it lets ours lie: what it has said is read first', () => {
    const scene = Scene.up(100, { keepalive });
    const call = scene.call();
    const link = scene.link(0);
    link.paused = true;
    scene.time.advance(15_000);
    expect([link.asked, call.heard]).toEqual([['read on'], ['opened']]);
    scene.time.alarms.set(scene.time.clock.now() + 50, () => answer(scene, link));
    scene.time.advance(5000);
    expect(call.heard).toEqual(['opened']);
    // It says nothing more: the time for its next answer, and what a read may take.
    scene.time.advance(10_000);
    expect(call.heard).toEqual(['opened']);
    scene.time.advance(150);
    expect(call.heard).toEqual(['opened', 'end: lost']);
  });

  it('is not lost for an answer that came before our own process went on', () => {
    const scene = Scene.up(100, { keepalive });
    const call = scene.call();
    scene.time.advance(10_000);
    // Where the process stood still the alarm rings before the socket is read, both in one turn: this one rings second.
    scene.time.alarms.set(scene.time.clock.now() + 5000, () => answer(scene, scene.link(0)));
    scene.time.advance(14_999);
    expect(call.heard).toEqual(['opened']);
    expect(scene.link(0).pings.length).toBe(0);
    scene.time.advance(1);
    expect(scene.link(0).pings.length).toBe(1);
  });

  it('is left alone once its calls have ended, with no alarm left', () => {
    const scene = Scene.up(100, { keepalive });
    scene.finish(scene.call());
    expect(scene.time.alarms.pending).toBe(1);
    scene.time.advance(60_000);
    expect(scene.link(0).pings.length).toBe(0);
    expect(scene.time.alarms.pending).toBe(0);
    // And watched again with the next.
    scene.call();
    scene.time.advance(10_000);
    expect(scene.link(0).pings.length).toBe(1);
  });

  it('a PING that its calls do not outlive still has to be answered', () => {
    const scene = Scene.up(100, { keepalive });
    const call = scene.call();
    scene.time.advance(10_000);
    scene.finish(call);
    scene.time.advance(5000);
    expect(scene.changes.at(-1)).toMatchObject({ event: 'lost' });
  });

  it('BR-70: calls that give up one after another, each before the silence is long enough, are one silence', () => {
    const scene = Scene.up(100, { keepalive });
    for (let i = 0; i < 16 && scene.links.length === 1; i += 1) {
      const call = scene.call();
      scene.time.advance(700);
      if (call.heard.length === 1) scene.finish(call);
      scene.time.advance(300);
    }
    expect(scene.links.length).toBe(2);
    expect(scene.changes.at(-1)).toMatchObject({ event: 'lost', detail: `${at}: ${lost}` });
  });

  it('calls that are answered in time are never asked about, however many follow one another', () => {
    const scene = Scene.up(100, { keepalive });
    for (let i = 0; i < 100; i += 1) {
      const call = scene.call();
      scene.time.advance(900);
      hear(scene, scene.link(0));
      scene.finish(call);
      scene.time.advance(900);
    }
    expect(scene.link(0).pings.length).toBe(0);
  });

  it('a connection that was idle for long has the whole silence before it is asked', () => {
    const scene = Scene.up(100, { keepalive });
    scene.time.advance(100_000);
    scene.call();
    scene.time.advance(9999);
    expect(scene.link(0).pings.length).toBe(0);
  });

  it('is watched after a GOAWAY as well', () => {
    const scene = Scene.up(100, { keepalive });
    const call = scene.call();
    scene.link(0).goaway(2 ** 31 - 1);
    scene.link(1).settings();
    scene.time.advance(15_000);
    expect(call.heard).toEqual(['opened', 'end: lost']);
    scene.link(0).close(lost);
    expect(scene.changes.at(-1)).toMatchObject({ event: 'closed', detail: `${at}: ${lost}` });
    expect(scene.backend).toMatchObject({ link: 'ready', connections: 1 });
  });

  it('has one alarm, whatever the number of its calls, and none when it has ended', () => {
    const scene = Scene.up(100, { keepalive });
    for (let i = 0; i < 50; i += 1) scene.call();
    expect(scene.time.alarms.pending).toBe(1);
    scene.link(0).lose('reset');
    // The next connect has a timeout of its own.
    scene.link(1).settings();
    expect(scene.time.alarms.pending).toBe(0);
  });

  it('without keepalive is never asked', () => {
    const scene = Scene.up(100, { keepalive: null });
    scene.call();
    scene.time.advance(3_600_000);
    expect(scene.link(0).pings.length).toBe(0);
  });
});

describe('CON-18: a backend that says too_many_pings', () => {
  const calm = 11;

  /** Its first connection is told off after one PING. */
  function toldOff(): Scene {
    const scene = Scene.up(100, { keepalive });
    scene.call();
    scene.time.advance(10_000);
    scene.link(0).goaway(0, calm, 'too_many_pings');
    scene.link(1).settings();
    return scene;
  }

  it('has its interval doubled, each time', () => {
    const scene = toldOff();
    for (const [link, interval] of [
      [1, 20_000],
      [2, 40_000],
    ] as const) {
      scene.call();
      scene.time.advance(interval - 1);
      expect(scene.link(link).pings.length).toBe(0);
      scene.time.advance(1);
      expect(scene.link(link).pings.length).toBe(1);
      scene.link(link).goaway(0, calm, 'too_many_pings');
      scene.link(link + 1).settings();
    }
  });

  it('is logged with the remedy and blamed for nothing: the next connect is at once', () => {
    const scene = toldOff();
    const draining = scene.changes.find(({ event }) => event === 'draining');
    expect(draining).toMatchObject({
      detail:
        `${at}: the backend sent GOAWAY with code 11 (too_many_pings): PINGs to it now wait for 20000 ms of silence, at most 1 in one; ` +
        'let the backend permit them, or raise --keepalive-time or lower --keepalive-max-pings',
      retryIn: null,
    });
    expect(scene.changes.map(({ event }) => event)).not.toContain('lost');
    expect(scene.backend.lastError).toBe(null);
    // Though two in a row carried nothing to an end.
    for (let i = 1; i < 5; i += 1) {
      scene.call();
      scene.time.advance(10_000 * 2 ** i);
      scene.link(i).goaway(0, calm, 'too_many_pings');
      expect(scene.links.length).toBe(i + 2);
      scene.link(i + 1).settings();
    }
  });

  it('has fewer PINGs in a silence than those that it complained of, but for where they have no limit', () => {
    for (const [maxPings, later] of [
      [3, 2],
      [0, 4],
    ] as const) {
      const scene = Scene.up(100, { keepalive: { ...keepalive, maxPings } });
      scene.call();
      for (let i = 0; i < 2; i += 1) {
        scene.time.advance(10_000);
        answer(scene, scene.link(0));
      }
      scene.time.advance(10_000);
      scene.link(0).goaway(0, calm, 'too_many_pings');
      scene.link(1).settings();
      scene.call();
      let seen = 0;
      for (let i = 0; i < 4; i += 1) {
        scene.time.advance(20_000);
        if (scene.link(1).pings.length === 0) continue;
        seen += 1;
        answer(scene, scene.link(1));
      }
      expect(seen).toBe(later);
    }
  });

  it('on two connections that were asked alike doubles it once', () => {
    const scene = Scene.up(1, { keepalive });
    scene.call();
    scene.call();
    scene.link(1).settings(1);
    scene.time.advance(10_000);
    for (const link of [0, 1]) scene.link(link).goaway(0, calm, 'too_many_pings');
    expect(scene.changes.filter(({ detail }) => detail.includes('wait for 20000 ms')).length).toBe(2);
  });

  it('without having been asked, or in other words, is any GOAWAY', () => {
    const unasked = Scene.up(100, { keepalive });
    unasked.link(0).goaway(0, calm, 'too_many_pings');
    const other = Scene.up(100, { keepalive });
    other.call();
    other.time.advance(10_000);
    other.link(0).goaway(0, calm, 'calm');
    const gentle = Scene.up(100, { keepalive });
    gentle.call();
    gentle.time.advance(10_000);
    gentle.link(0).goaway(0, 0, 'too_many_pings');
    for (const { changes } of [unasked, other, gentle]) expect(changes.at(-1)?.detail).not.toContain('--keepalive');
  });
});
