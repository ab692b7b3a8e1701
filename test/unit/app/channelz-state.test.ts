import { describe, expect, it } from 'vitest';
import { ChannelzState } from '../../../src/app/channelz-state.js';
import { readCalls } from '../../../src/app/readings.js';
import type { CallCounts } from '../../../src/control/channelz-types.js';
import { backendId } from '../../../src/grpc/backend-id.js';
import { Status } from '../../../src/grpc/status.js';
import { StreamCounts } from '../../../src/http2/stream-counts.js';
import type { ClientView } from '../../../src/proxy/listener.js';
import type { BackendSpec } from '../../../src/upstream/types.js';
import { backend } from '../admin/backends.js';
import { moved, Pool, spec } from '../upstream/set-rig.js';

/** Backends on virtual time that channelz is told of, at 1000 s after 1970. */
class Scene {
  bound: readonly string[] = [];
  calls: CallCounts | null = null;
  readonly state = new ChannelzState({
    // Made in the middle of a turn: its time is that of the turn's beginning.
    clock: { now: () => -40, fresh: () => 0 },
    wallNow: () => 1_000_000,
    listening: () => this.bound,
    calls: () => this.calls,
  });
  readonly backends: Pool;

  constructor(specs: readonly BackendSpec[] = [spec('b1')]) {
    this.backends = new Pool(specs, {
      onMade: (made) => this.state.backendMade(made),
      onEnded: (ended) => this.state.backendEnded(ended),
    });
  }

  channel(name: string) {
    const found = this.state.channels(0, 100).items.find(({ ref }) => ref.name === name);
    if (found === undefined) throw new Error(`there is no channel ${name}`);
    return found;
  }

  subchannels(name: string) {
    return this.channel(name).subchannels.map(({ id }) => {
      const found = this.state.subchannel(id);
      if (found === null) throw new Error(`there is no subchannel ${id}`);
      return found;
    });
  }

  subchannel(name: string) {
    const [found] = this.subchannels(name);
    if (found === undefined) throw new Error(`${name} has no subchannel`);
    return found;
  }
}

function member(address: string): BackendSpec {
  const port = Number(address.split(':')[1]);
  const endpoint = { kind: 'tcp', host: '127.0.0.1', port } as const;
  return { ...spec('g'), id: backendId(`g/${address}`), name: 'g', target: 'dns:///g:1', endpoint };
}

function client(peer: string): ClientView {
  const streamCounts = new StreamCounts(false);
  streamCounts.lastOpenedAt = 250;
  return {
    peer,
    traffic: { streamCounts, sendWindow: 10, receiveWindow: 20 },
    keepalives: 3,
    socket: { local: { host: '127.0.0.1', port: 1 }, remote: { host: '127.0.0.1', port: 2 }, tls: null },
  };
}

describe('channels', () => {
  it('CTL-04: one for each name, with a subchannel for each backend of that name', () => {
    const scene = new Scene([spec('b1'), member('10.0.0.7:1007'), member('10.0.0.8:1008')]);
    expect(scene.state.channels(0, 100)).toMatchObject({
      items: [
        { ref: { name: 'b1' }, target: 'b1', subchannels: [{ name: 'b1' }], sockets: [] },
        {
          ref: { name: 'g' },
          target: 'dns:///g:1',
          subchannels: [{ name: 'g/10.0.0.7:1007' }, { name: 'g/10.0.0.8:1008' }],
        },
      ],
      end: true,
    });
    const { ref } = scene.channel('g');
    expect(scene.state.channel(ref.id)).toEqual(scene.channel('g'));
    expect(scene.state.channels(ref.id, 1)).toMatchObject({ items: [{ ref }], end: true });
  });

  it('CTL-04: calls are attempts, by their status; a channel has those of its backends that left as well', () => {
    const scene = new Scene([member('10.0.0.7:1007'), member('10.0.0.8:1008')]);
    const [one, other] = scene.backends.pool.backends;
    one?.calls.began(100);
    one?.calls.began(300);
    one?.calls.ended(Status.OK);
    one?.calls.ended(Status.UNAVAILABLE);
    other?.calls.began(200);
    other?.calls.began(200);
    other?.calls.ended(null);
    expect(scene.subchannels('g').map(({ calls }) => calls)).toEqual([
      { started: 2, succeeded: 1, failed: 1, lastStarted: 1_000_300 },
      { started: 2, succeeded: 0, failed: 1, lastStarted: 1_000_200 },
    ]);
    const sum = { started: 4, succeeded: 1, failed: 2, lastStarted: 1_000_300 };
    expect(scene.channel('g').calls).toEqual(sum);
    scene.backends.pool.apply([member('10.0.0.8:1008')]);
    scene.backends.links[0]?.link.close('');
    expect(scene.channel('g').subchannels).toHaveLength(1);
    expect(scene.channel('g').calls).toEqual(sum);
  });

  it('CTL-04: have no time of a last call where there was none', () => {
    expect(new Scene().channel('b1').calls).toEqual({ started: 0, succeeded: 0, failed: 0, lastStarted: null });
  });

  it.each([
    [{}, 'READY'],
    [{ link: 'busy' }, 'READY'],
    [{ link: 'full' }, 'READY'],
    [{ link: 'full', downSince: 5 }, 'CONNECTING'],
    [{ link: 'connecting', downSince: 5 }, 'CONNECTING'],
    [{ link: 'idle', downSince: 5 }, 'IDLE'],
    [{ link: 'backoff', downSince: 5 }, 'TRANSIENT_FAILURE'],
    [{ phase: 'leaving' }, 'SHUTDOWN'],
    [{ phase: 'left', link: 'backoff' }, 'SHUTDOWN'],
  ] as const)('CTL-04: a backend that is %j is %s', (rest, state) => {
    const scene = new Scene([]);
    scene.state.backendMade(backend({ ...rest, views: () => [] }));
    expect(scene.channel('b1').state).toBe(state);
    expect(scene.subchannel('b1').state).toBe(state);
  });

  it.each([
    [['backoff', 'idle', 'connecting', 'ready'], 'READY'],
    [['backoff', 'idle', 'connecting'], 'CONNECTING'],
    [['backoff', 'idle'], 'IDLE'],
    [['backoff'], 'TRANSIENT_FAILURE'],
  ] as const)('CTL-04: of backends that are %j the channel is %s', (links, state) => {
    const scene = new Scene([]);
    const down = { downSince: 5 };
    scene.state.backendMade(backend({ phase: 'left' }));
    for (const link of links) scene.state.backendMade(backend(link === 'ready' ? { link } : { link, ...down }));
    expect(scene.channel('b1').state).toBe(state);
  });
});

describe('connections of backends', () => {
  it('CTL-06: are those that serve, each with an id that stays', () => {
    const scene = new Scene();
    const [socket, ...more] = scene.subchannel('b1').sockets;
    if (socket === undefined) throw new Error('b1 is connected');
    expect(more).toEqual([]);
    expect(socket.name).toBe('b1, connection 1');
    expect(scene.subchannel('b1').sockets).toEqual([socket]);
    expect(scene.state.socket(socket.id)).toEqual({
      ref: socket,
      local: { kind: 'tcp', host: '127.0.0.1', port: 1 },
      remote: { kind: 'tcp', host: '127.0.0.1', port: 2 },
      remoteName: null,
      tls: null,
      traffic: {
        started: 0,
        succeeded: 0,
        failed: 0,
        lastRemote: null,
        keepalives: 0,
        localWindow: 65_535,
        remoteWindow: 4_194_304,
      },
    });
  });

  it('CTL-08: one that is lost is not there any more, and its id is not that of the next', () => {
    const scene = new Scene();
    const [old] = scene.subchannel('b1').sockets;
    if (old === undefined) throw new Error('b1 is connected');
    scene.backends.link('b1').lose('reset by peer');
    scene.backends.time.advance(1000);
    expect(scene.state.socket(old.id)).toBeNull();
    scene.backends.link('b1').settings();
    const [next] = scene.subchannel('b1').sockets;
    expect(next?.name).toBe('b1, connection 2');
    expect(next?.id).toBeGreaterThan(old.id);
    expect(scene.state.socket(old.id)).toBeNull();
  });

  it('CTL-06: on a unix socket the peer is its path; a host name that led there is told', () => {
    const scene = new Scene([]);
    const endpoint = { kind: 'unix', path: '/run/b.sock' } as const;
    const connected = new Pool([spec('b1')]).backend('b1');
    scene.state.backendMade(backend({ endpoint, host: 'b.example', views: () => connected.views() }));
    const [socket] = scene.subchannel('b1').sockets;
    expect(scene.state.socket(socket?.id ?? 0)).toMatchObject({ remote: endpoint, remoteName: 'b.example' });
  });
});

describe('backends that leave', () => {
  it('CTL-09: are SHUTDOWN while their last calls go on, then gone with their ids', () => {
    const scene = new Scene([spec('a'), spec('b')]);
    const call = scene.backends.call('a');
    const { ref } = scene.subchannel('a');
    const channel = scene.channel('a').ref;
    const [socket] = scene.subchannel('a').sockets;
    scene.backends.pool.apply([spec('b')]);
    expect(scene.subchannel('a')).toMatchObject({ ref, state: 'SHUTDOWN', sockets: [socket] });
    scene.backends.finish(call);
    scene.backends.link('a').close('');
    expect(scene.state.subchannel(ref.id)).toBeNull();
    expect(scene.state.channel(channel.id)).toBeNull();
    expect(scene.state.socket(socket?.id ?? 0)).toBeNull();
    expect(scene.state.channels(0, 100).items.map((one) => one.ref.name)).toEqual(['b']);
    scene.backends.pool.apply([spec('a'), spec('b')]);
    expect(scene.channel('a').ref.id).toBeGreaterThan(channel.id);
    expect(scene.subchannel('a').ref.id).toBeGreaterThan(ref.id);
  });

  it('CTL-09: one at another address is another subchannel of the same channel', () => {
    const scene = new Scene();
    scene.backends.call('b1');
    const { ref } = scene.channel('b1');
    scene.backends.pool.apply([moved('b1')]);
    expect(scene.channel('b1').ref).toEqual(ref);
    expect(scene.subchannels('b1').map(({ state }) => state)).toEqual(['SHUTDOWN', 'CONNECTING']);
  });
});

describe('the server', () => {
  it('CTL-05: is one, with all listeners and the calls of clients', () => {
    const scene = new Scene();
    const { items } = scene.state.servers(0);
    expect(items).toMatchObject([{ ref: { name: 'hedgerow' }, calls: null, listening: [] }]);
    scene.bound = ['127.0.0.1:50051', '[::1]:50051', 'unix:/run/h.sock'];
    scene.calls = readCalls({ live: () => ({ calls: { ended: 5, ok: 3 } }) as never }, 2);
    const id = items[0]?.ref.id ?? 0;
    const server = scene.state.server(id);
    expect(server?.calls).toEqual({ started: 7, succeeded: 3, failed: 2, lastStarted: null });
    expect(server?.listening.map(({ name }) => name)).toEqual(scene.bound);
    expect(scene.state.server(id)).toEqual(server);
    expect(server?.listening.map((one) => scene.state.socket(one.id))).toMatchObject([
      { local: { kind: 'tcp', host: '127.0.0.1', port: 50_051 }, remote: null, traffic: null },
      { local: { kind: 'tcp', host: '::1', port: 50_051 } },
      { local: { kind: 'unix', path: '/run/h.sock' } },
    ]);
    expect(scene.state.servers(id + 1)).toEqual({ items: [], end: true });
    expect(scene.state.server(id + 1)).toBeNull();
    expect(scene.state.serverSockets(id + 1, 0, 100)).toBeNull();
  });

  it('CTL-05, CTL-06: its sockets are the connections of clients, for as long as they are there', () => {
    const scene = new Scene();
    const id = scene.state.servers(0).items[0]?.ref.id ?? 0;
    const ends = ['127.0.0.1:2', '127.0.0.1:3', '127.0.0.1:4'].map((peer) => scene.state.clientServed(client(peer)));
    ends[1]?.();
    const { items, end } = scene.state.serverSockets(id, 0, 100) ?? { items: [], end: false };
    expect(items.map(({ name }) => name)).toEqual(['127.0.0.1:2', '127.0.0.1:4']);
    expect(end).toBe(true);
    expect(scene.state.serverSockets(id, 0, 1)).toEqual({ items: items.slice(0, 1), end: false });
    const [first] = items;
    expect(scene.state.socket(first?.id ?? 0)).toMatchObject({
      ref: first,
      remote: { kind: 'tcp', host: '127.0.0.1', port: 2 },
      traffic: { lastRemote: 1_000_250, keepalives: 3, localWindow: 10, remoteWindow: 20 },
    });
    ends[0]?.();
    expect(scene.state.socket(first?.id ?? 0)).toBeNull();
  });
});
