import { describe, expect, it } from 'vitest';
import type { Presence } from '../../../src/balance/sessions.js';
import { type BackendId, backendId } from '../../../src/grpc/backend-id.js';
import { SessionClient } from '../../../src/workers/session-client.js';
import type { OwnerAnswer, SessionToPrimary } from '../../../src/workers/session-messages.js';
import { firstOf } from '../../support/call-log.js';
import type { BackendPlan, ClientCallPlan, RunScript } from '../../support/call-script.js';
import { VirtualProxy } from '../../support/virtual-proxy.js';
import { usual } from '../balance/session-rig.js';

/*
 * What a call does whose session another process owns (D31): it asks before its pick, and waits for the answer.
 */

const [a, b] = [backendId('a'), backendId('b')];

const plainBackend: BackendPlan = { latency: 1, streams: 100, window: 65_535, events: [] };
/** Takes connects and never finishes one. */
const hanging: BackendPlan = { ...plainBackend, events: [{ at: 0, kind: 'hang' }] };
const refusing: BackendPlan = { ...plainBackend, events: [{ at: 0, kind: 'refuse' }] };

function call(changes: Partial<ClientCallPlan> = {}): ClientCallPlan {
  return {
    at: 0,
    connection: 0,
    service: 0,
    messages: [10],
    pieces: [],
    halfClose: 0,
    cancel: null,
    timeout: null,
    previous: null,
    directives: [['session', 'me']],
    readAfter: 0,
    outcomes: [],
    ...changes,
  };
}

const script: RunScript = {
  config: '{}',
  limits: { call: 1000, client: 10_000, total: 100_000, relay: 100_000, queue: 10, connections: 2 },
  randoms: [0.5],
  alarmsLate: 0,
  clientLatency: 1,
  clientWindow: 65_535,
  proxyWindow: 65_535,
  warmup: 20,
  backends: [plainBackend, plainBackend],
  calls: [call()],
  pin: 'strict',
  pinSameBackendRetry: false,
  clientLost: null,
  abandonAt: null,
};

function kept(backend: BackendId, claim: number, fresh: boolean): OwnerAnswer {
  return { kind: 'kept', backend, claim, age: 0, idle: 0, fresh };
}

type Ask = Extract<SessionToPrimary, { type: 'session_ask' }>;

/**
 * A proxy with a primary that answers each question after 50 ms.
 *
 * @param answer null: never
 */
function run(
  changes: Partial<RunScript>,
  answer: (ask: Ask) => OwnerAnswer | null,
  presence: (backend: BackendId) => Presence = () => null,
) {
  const sent: SessionToPrimary[] = [];
  let sessions: SessionClient | null = null;
  const proxy = new VirtualProxy(
    { ...script, ...changes },
    {
      parts(real) {
        const { clock, alarms } = real;
        const client = new SessionClient(usual, presence, {
          clock,
          alarms,
          send(message) {
            sent.push(message);
            const reply = message.type === 'session_ask' ? answer(message) : null;
            if (message.type === 'session_ask' && reply !== null)
              alarms.set(clock.now() + 50, () =>
                client.receive({ type: 'session_answer', ask: message.ask, answer: reply }),
              );
          },
        });
        sessions = client;
        return { ...real, sessions: client.sessions, sessionOwner: client };
      },
    },
  );
  proxy.run();
  const told = proxy.callers.map(({ trailers, headers }) => {
    const lines = [...(headers ?? []), ...(trailers ?? [])];
    return [firstOf(lines, 'grpc-status'), firstOf(lines, 'grpc-message') ?? ''] as const;
  });
  expect(proxy.defects).toEqual([]);
  expect(proxy.leaks).toMatchObject({ calls: 0, alarms: 0, upstreamStreams: 0, queued: 0, waitingForConnect: 0 });
  const client = sessions as SessionClient | null;
  expect(client?.sessions.stats(proxy.time.clock.now()).calls).toBe(0);
  return {
    asks: sent.filter((message): message is Ask => message.type === 'session_ask'),
    sent,
    told,
    served: proxy.backends.flatMap(({ served }) => served).map(({ backend }) => backend),
    asking: client?.asking,
  };
}

describe('a call of a session that another process owns', () => {
  it('WRK-05: goes where the owner says, and the next one of the id goes there unasked', () => {
    for (const home of [a, b]) {
      const { asks, told, served } = run({ calls: [call(), call({ at: 1000 })] }, () => kept(home, 1, false));
      expect(asks).toHaveLength(1);
      expect(served).toEqual([home, home]);
      expect(told.map(([status]) => status)).toEqual(['0', '0']);
    }
  });

  it('WRK-05: offers a candidate, which is what it would have chosen itself', () => {
    const { asks, served } = run({}, ({ candidate }) => (candidate === null ? null : kept(candidate, 1, true)));
    expect(asks.map(({ candidate }) => candidate)).toEqual(served);
    const excluded = run(
      {
        calls: [
          call({
            directives: [
              ['session', 'me'],
              ['exclude', served[0] ?? ''],
            ],
          }),
        ],
      },
      ({ candidate }) => (candidate === null ? null : kept(candidate, 1, true)),
    );
    expect(excluded.served).toEqual([served[0] === a ? b : a]);
  });

  it('WRK-05: ends at its deadline where there is no answer, and what is answered later is given back', () => {
    const { told, served, sent, asking } = run({ calls: [call({ timeout: 30 })] }, () => kept(a, 1, true));
    expect(told.map(([status]) => status)).toEqual(['4']);
    expect(served).toEqual([]);
    expect(sent.map(({ type }) => type)).toEqual(['session_ask', 'session_released']);
    expect(asking).toBe(0);
  });

  it('WRK-05: is cancelled while it waits', () => {
    const { served, sent } = run({ calls: [call({ cancel: 30 })] }, () => kept(a, 1, false));
    expect(served).toEqual([]);
    expect(sent.map(({ type }) => type)).toEqual(['session_ask', 'session_news']);
    expect(sent[1]).toMatchObject({ entries: [{ claim: 1, busy: false }] });
  });

  it('WRK-05: is refused where there is no room for a new session', () => {
    const { told, served } = run({}, () => ({ kind: 'full' }));
    expect(told).toEqual([['8', expect.stringContaining('--session-max-entries')]]);
    expect(served).toEqual([]);
  });

  it('WRK-05: asks also where nobody can be picked, and ends as any such call where nobody has the session', () => {
    const nobody = run({ backends: [refusing, refusing], warmup: 200 }, () => ({ kind: 'none' }));
    expect(nobody.asks.map(({ candidate }) => candidate)).toEqual([null]);
    expect(nobody.told).toEqual([['14', expect.stringContaining('down')]]);
    const others = run({ backends: [refusing, refusing], warmup: 200 }, () => kept(b, 1, false));
    expect(others.told).toEqual([['14', expect.stringContaining("the call's session is on b")]]);
  });

  it('WRK-07: is told once where the session is lost by what is known of its backend here', () => {
    const { told, sent, served } = run(
      {},
      () => kept(a, 7, false),
      () => 'gone',
    );
    expect(told).toEqual([['14', expect.stringContaining("the session's backend a is gone")]]);
    expect(sent.at(-1)).toMatchObject({ type: 'session_lost', claim: 7 });
    expect(served).toEqual([]);
  });
});

describe('a first call whose backend cannot be connected to', () => {
  /** One of two backends hangs; the session is given to it where it is the call's own candidate. */
  function firstOnHanging(second: (ask: Ask) => OwnerAnswer) {
    let asked = 0;
    return run({ backends: [hanging, plainBackend], calls: [call({ directives: [['session', idOnA]] })] }, (ask) => {
      asked += 1;
      return asked === 1 ? kept(a, 1, true) : second(ask);
    });
  }

  const idOnA = 'me';

  it('WRK-06: gives the claim back, asks again and goes to the other', () => {
    const { asks, served, sent, told } = firstOnHanging(({ candidate }) => kept(candidate ?? a, 2, true));
    expect(served).toEqual([b]);
    expect(told.map(([status]) => status)).toEqual(['0']);
    expect(asks.map(({ candidate }) => candidate).slice(1)).toEqual([b]);
    const said = sent.map(({ type }) => type).filter((type) => type !== 'session_news');
    expect(said).toEqual(['session_ask', 'session_released', 'session_ask']);
  });

  it('WRK-06: stays with the claim where it stands, and fails', () => {
    const { served, told } = firstOnHanging(() => kept(a, 1, false));
    expect(served).toEqual([]);
    expect(told).toEqual([['14', expect.stringContaining("the call's session is on a")]]);
  });
});
