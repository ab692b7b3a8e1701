import { describe, expect, it } from 'vitest';
import { createConnection } from '../../../src/http2/connection.js';
import { defaultHttp2Settings } from '../../../src/http2/types.js';
import { type ClientLifetime, ClientSession } from '../../../src/proxy/client-session.js';
import { ack, parse, ping, preface, settings, show } from '../../support/frames.js';
import { createVirtualTime } from '../../support/virtual-time.js';

const never: ClientLifetime = { idle: null, age: null, ageGrace: 30_000 };
const soon = `goaway ${2 ** 31 - 1} 0`;

/** A session whose calls are a number that the test moves. */
function meet(lifetime: Partial<ClientLifetime>, random = 0.5) {
  const time = createVirtualTime();
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
  connection.takeOutput();
  const asked: string[] = [];
  const client = {
    openCalls: 0,
    abandonCalls: () => {
      asked.push(`abandon ${client.openCalls}`);
    },
  };
  const binding = {
    connection,
    lastReadAt: 0,
    readOn: () => false,
    end: (linger?: number) => void asked.push(linger === undefined ? 'end' : `end ${linger}`),
    endWhenRead: (patience: number) => void asked.push(`end when read, ${patience}`),
    destroy: (detail?: string) => void asked.push(`destroy ${detail}`),
  };
  const session = new ClientSession(
    client,
    binding,
    { ...time, random: { next: () => random } },
    { ...never, ...lifetime },
    (detail) => void asked.push(`silent ${detail}`),
  );
  let payload = '';
  return {
    time,
    session,
    asked,
    call: () => {
      client.openCalls += 1;
    },
    finish: () => {
      client.openCalls -= 1;
      session.callEnded();
    },
    /** A byte comes from the client. */
    hear: () => {
      binding.lastReadAt = time.clock.now();
    },
    pings: (): number =>
      parse(Buffer.concat(connection.takeOutput())).filter((one) => show(one).startsWith('ping')).length,
    /** What has been sent since the last time. */
    said: (): string[] => {
      const frames = parse(Buffer.concat(connection.takeOutput()));
      for (const one of frames) if (show(one).startsWith('ping')) payload = one.payload.toString('latin1');
      return frames.map(show).filter((line) => line.startsWith('goaway'));
    },
    answerPing: () => {
      connection.receive(ping(payload, ack));
      time.endTurn();
    },
  };
}

describe('CON-20: a client connection without calls', () => {
  it('is told both GOAWAYs after the idle time, and closed', () => {
    const { time, said, answerPing, asked } = meet({ idle: 1000 });
    time.advance(999);
    expect(said()).toEqual([]);
    time.advance(1);
    expect([said(), asked]).toEqual([[soon], []]);
    answerPing();
    expect([said(), asked]).toEqual([['goaway 0 0'], ['end']]);
    expect(time.alarms.pending).toBe(0);
  });

  it('counts from the end of the last call', () => {
    const { time, said, call, finish } = meet({ idle: 1000 });
    time.advance(500);
    call();
    time.advance(100);
    finish();
    time.advance(999);
    expect(said()).toEqual([]);
    time.advance(1);
    expect(said()).toEqual([soon]);
  });

  it('stays while a call is open, however long, and has one alarm at most', () => {
    const { time, said, call, finish } = meet({ idle: 1000 });
    call();
    call();
    time.advance(100_000);
    expect(time.alarms.pending).toBe(0);
    finish();
    time.advance(100_000);
    expect(said()).toEqual([]);
    finish();
    expect(time.alarms.pending).toBe(1);
    time.advance(1000);
    expect(said()).toEqual([soon]);
  });

  it('serves a call that comes between the GOAWAYs, then closes', () => {
    const { time, call, finish, said, answerPing, asked } = meet({ idle: 1000 });
    time.advance(1000);
    said();
    call();
    answerPing();
    time.advance(60_000);
    expect(asked).toEqual([]);
    finish();
    expect(asked).toEqual(['end when read, 30000']);
  });

  it('stays for ever where the time is off', () => {
    const { time, said, call, finish } = meet({});
    call();
    finish();
    expect(time.alarms.pending).toBe(0);
    time.advance(1e9);
    expect(said()).toEqual([]);
  });
});

describe('CON-10: a client connection that is old', () => {
  it.each([
    [0, 900],
    [0.5, 1000],
    [0.999_999, 1100],
  ])('is told to go at its age give or take a tenth: random %d, after %d ms', (random, at) => {
    const { time, said } = meet({ age: 1000 }, random);
    time.advance(at - 1);
    expect(said()).toEqual([]);
    time.advance(1);
    expect(said()).toEqual([soon]);
  });

  it('closes with its last call', () => {
    const { time, said, call, finish, answerPing, asked } = meet({ age: 1000 });
    call();
    time.advance(1000);
    said();
    answerPing();
    expect(said()).toEqual(['goaway 0 0']);
    time.advance(29_000);
    expect(asked).toEqual([]);
    finish();
    expect(asked).toEqual(['end when read, 30000']);
  });

  it('BR-72: ends what is left of its calls when the grace is over', () => {
    const { time, call, asked, said, session } = meet({ age: 1000, ageGrace: 500 });
    call();
    time.advance(1000);
    said();
    time.advance(499);
    expect(asked).toEqual([]);
    time.advance(1);
    // Not answered yet: the last GOAWAY goes out now, so that what is on its way here is known not to be taken.
    expect([said(), asked]).toEqual([['goaway 0 0'], ['abandon 1', 'end 100']]);
    session.closed();
    expect(time.alarms.pending).toBe(0);
  });

  it('is not told twice where it is idle or drained as well', () => {
    const { time, call, finish, said, session } = meet({ age: 1000, idle: 1200 });
    call();
    time.advance(1000);
    expect(said()).toEqual([soon]);
    session.leave();
    finish();
    time.advance(5000);
    expect(said()).toEqual(['goaway 0 0']);
  });
});

describe('CON-29: a client that may not have read the end of its answer when its connection is to close', () => {
  it('has the grace for it, and no more than is left', () => {
    const { time, call, finish, said, answerPing, asked } = meet({ age: 1000, ageGrace: 500 });
    call();
    time.advance(1000);
    said();
    answerPing();
    time.advance(100);
    finish();
    expect(asked).toEqual(['end when read, 500']);
    time.advance(400);
    expect(asked.slice(1)).toEqual(['abandon 0', 'end 100']);
  });

  it('has the same where it is idle, if it does not answer the PING of the goodbye', () => {
    const { time, call, finish, asked } = meet({ idle: 500, ageGrace: 2000 });
    call();
    finish();
    time.advance(500);
    time.advance(999);
    expect(asked).toEqual([]);
    time.advance(1);
    expect(asked).toEqual(['end when read, 2000']);
  });

  it('has what a drain gives', () => {
    const { session, call, finish, said, answerPing, asked } = meet({ ageGrace: 10 });
    call();
    session.leave(700);
    said();
    answerPing();
    finish();
    expect(asked).toEqual(['end when read, 700']);
  });

  it('has nothing where it has answered that PING, which came after its answers', () => {
    const { time, call, finish, said, answerPing, asked } = meet({ idle: 500 });
    call();
    finish();
    time.advance(500);
    said();
    answerPing();
    expect(asked).toEqual(['end']);
  });

  it('has had its time where the last answer ended longer ago, and needs none where it had no call', () => {
    const { time, call, finish, asked } = meet({ idle: 5000, ageGrace: 2000 });
    call();
    finish();
    time.advance(5000);
    time.advance(1000);
    expect(asked).toEqual(['end']);
    const none = meet({ idle: 500 });
    none.time.advance(500);
    none.time.advance(1000);
    expect(none.asked).toEqual(['end']);
  });

  it('is given up with its calls when the time to finish is over', () => {
    const { session, call, finish, asked } = meet({});
    call();
    session.leave();
    session.giveUp();
    finish();
    expect(asked).toEqual(['abandon 1', 'end 100']);
  });
});

it('a session that has ended leaves no alarm', () => {
  const { time, session } = meet({ age: 1000, idle: 1000 });
  expect(time.alarms.pending).toBe(2);
  session.closed();
  expect(time.alarms.pending).toBe(0);
});

describe('CON-28: a client that says nothing', () => {
  const keepalive = { time: 7_200_000, timeout: 20_000 };
  const lost = 'no answer to a keepalive PING within 20000 ms';

  it('is asked after the time, without calls too, and closed when the answer is late', () => {
    const { time, asked, pings } = meet({ keepalive });
    time.advance(7_199_999);
    expect(pings()).toBe(0);
    time.advance(1);
    expect(pings()).toBe(1);
    time.advance(19_999);
    expect(asked).toEqual([]);
    time.advance(1);
    time.endTurn();
    expect(asked).toEqual([`silent ${lost}`, `destroy ${lost}`]);
  });

  it('is asked again after each silence, without end, while any byte comes in time', () => {
    const { time, asked, pings, hear } = meet({ keepalive });
    for (let n = 0; n < 10; n += 1) {
      time.advance(7_200_000);
      expect(pings()).toBe(1);
      time.advance(n === 0 ? 20_000 - 1 : 0);
      hear();
    }
    expect(asked).toEqual([]);
  });

  it('is not asked where it speaks, nor where it is off, nor once it is gone', () => {
    const speaks = meet({ keepalive });
    for (let n = 0; n < 3; n += 1) {
      speaks.time.advance(7_199_999);
      speaks.hear();
    }
    expect(speaks.pings()).toBe(0);
    const off = meet({ keepalive: null });
    off.time.advance(86_400_000);
    expect(off.pings()).toBe(0);
    const gone = meet({ keepalive });
    gone.session.closed();
    gone.time.advance(86_400_000);
    expect(gone.pings()).toBe(0);
    expect(gone.time.alarms.pending).toBe(0);
  });
});
