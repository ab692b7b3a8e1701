import { describe, expect, it } from 'vitest';
import { type ChannelzRequest, channelzMethods } from '../../../src/control/channelz-service.js';
import type {
  ChannelSnapshot,
  ChannelzSource,
  ServerSnapshot,
  SocketSnapshot,
} from '../../../src/control/channelz-types.js';

const calls = { started: 7, succeeded: 4, failed: 2, lastStarted: 1_700_000_000_250 };
const channel: ChannelSnapshot = {
  ref: { id: 2, name: 'b' },
  state: 'READY',
  target: 'dns:///b:50051',
  calls,
  subchannels: [{ id: 3, name: 'b/10.0.0.7:50051' }],
  sockets: [{ id: 9, name: 's' }],
};
const server: ServerSnapshot = { ref: { id: 1, name: 'hedgerow' }, calls, listening: [{ id: 4, name: '127.0.0.1:1' }] };
const socket: SocketSnapshot = {
  ref: { id: 9, name: 's' },
  local: { kind: 'tcp', host: '10.0.0.1', port: 40_000 },
  remote: { kind: 'tcp', host: '::1', port: 50_051 },
  remoteName: 'b.example',
  tls: null,
  traffic: {
    started: 3,
    succeeded: 1,
    failed: 1,
    lastRemote: null,
    keepalives: 2,
    localWindow: 65_535,
    remoteWindow: 4_194_304,
  },
};

/** What was asked of the source, and what it says: the same to all ids but 0. */
class Source implements ChannelzSource {
  readonly asked: unknown[] = [];
  shown: SocketSnapshot = socket;
  serverCalls: ServerSnapshot['calls'] = calls;
  channels(...asked: [number, number]) {
    this.asked.push(asked);
    return { items: [channel], end: false };
  }
  channel(id: number) {
    return id === 0 ? null : channel;
  }
  subchannel(id: number) {
    return id === 0 ? null : channel;
  }
  servers(...asked: [number, number]) {
    this.asked.push(asked);
    return { items: [server], end: true };
  }
  server(id: number) {
    return id === 0 ? null : { ...server, calls: this.serverCalls };
  }
  serverSockets(...asked: [number, number, number]) {
    this.asked.push(asked);
    return asked[0] === 0 ? null : { items: [{ id: 9, name: 's' }], end: true };
  }
  socket(id: number) {
    return id === 0 ? null : this.shown;
  }
}

function ask(method: string, request: ChannelzRequest, source = new Source()): object {
  const answerTo = channelzMethods(source)[method];
  if (answerTo === undefined) throw new Error(`there is no ${method}`);
  return answerTo(request);
}

const data = {
  calls_started: 7,
  calls_succeeded: 4,
  calls_failed: 2,
  last_call_started_timestamp: { seconds: 1_700_000_000, nanos: 250_000_000 },
};

describe('channels', () => {
  it('CTL-04: are told with their calls, their subchannels and a page that may go on', () => {
    const message = {
      ref: { channel_id: 2, name: 'b' },
      data: { state: { state: 'READY' }, target: 'dns:///b:50051', ...data },
      subchannel_ref: [{ subchannel_id: 3, name: 'b/10.0.0.7:50051' }],
      socket_ref: [{ socket_id: 9, name: 's' }],
    };
    expect(ask('GetTopChannels', {})).toEqual({ channel: [message], end: false });
    expect(ask('GetChannel', { channel_id: '2' })).toEqual({ channel: message });
    expect(ask('GetSubchannel', { subchannel_id: '3' })).toEqual({
      subchannel: { ref: { subchannel_id: 2, name: 'b' }, data: message.data, socket_ref: message.socket_ref },
    });
  });
});

describe('servers', () => {
  it('CTL-05: are told with their calls and what they listen on', () => {
    const message = {
      ref: { server_id: 1, name: 'hedgerow' },
      data,
      listen_socket: [{ socket_id: 4, name: '127.0.0.1:1' }],
    };
    expect(ask('GetServers', {})).toEqual({ server: [message], end: true });
    expect(ask('GetServer', { server_id: '1' })).toEqual({ server: message });
    expect(ask('GetServerSockets', { server_id: '1', start_socket_id: '5' })).toEqual({
      socket_ref: [{ socket_id: 9, name: 's' }],
      end: true,
    });
  });

  it('CTL-05: what is not counted is absent', () => {
    const source = new Source();
    source.serverCalls = null;
    expect(ask('GetServer', { server_id: '1' }, source)).toEqual({
      server: { ref: { server_id: 1, name: 'hedgerow' }, listen_socket: [{ socket_id: 4, name: '127.0.0.1:1' }] },
    });
    source.serverCalls = { ...calls, lastStarted: null };
    const told = ask('GetServer', { server_id: '1' }, source) as { readonly server: { readonly data: object } };
    expect(Object.keys(told.server.data)).toEqual(['calls_started', 'calls_succeeded', 'calls_failed']);
  });
});

describe('sockets', () => {
  const ipv6 = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];

  it('CTL-06: are told with both addresses, their streams, PINGs and windows', () => {
    expect(ask('GetSocket', { socket_id: '9' })).toEqual({
      socket: {
        ref: { socket_id: 9, name: 's' },
        data: {
          streams_started: 3,
          streams_succeeded: 1,
          streams_failed: 1,
          keep_alives_sent: 2,
          local_flow_control_window: { value: 65_535 },
          remote_flow_control_window: { value: 4_194_304 },
        },
        local: { tcpip_address: { ip_address: Uint8Array.of(10, 0, 0, 1), port: 40_000 } },
        remote: { tcpip_address: { ip_address: Uint8Array.from(ipv6), port: 50_051 } },
        remote_name: 'b.example',
      },
    });
  });

  it('CTL-06: TLS by its suite and the certificates that were shown; a time where the peer opens streams', () => {
    const source = new Source();
    const local = Uint8Array.of(1);
    const tls = { cipher: 'TLS_AES_128_GCM_SHA256', local, remote: null };
    const traffic = socket.traffic === null ? null : { ...socket.traffic, lastRemote: 1500.5 };
    source.shown = { ...socket, tls, traffic, remote: null, remoteName: null };
    const told = ask('GetSocket', { socket_id: '9' }, source);
    expect(told).toMatchObject({
      socket: {
        security: { tls: { standard_name: 'TLS_AES_128_GCM_SHA256', local_certificate: local } },
        data: { last_remote_stream_created_timestamp: { seconds: 1, nanos: 500_500_000 } },
      },
    });
    expect(told).not.toHaveProperty('socket.security.tls.remote_certificate');
    expect(told).not.toHaveProperty('socket.remote');
  });

  it.each([
    [{ kind: 'unix', path: '/run/b.sock' }, { uds_address: { filename: '/run/b.sock' } }],
    [
      { kind: 'tcp', host: '::ffff:10.0.0.7', port: 1 },
      { tcpip_address: { ip_address: Uint8Array.of(10, 0, 0, 7), port: 1 } },
    ],
    [{ kind: 'tcp', host: 'fe80::1%eth0', port: 1 }, { other_address: { name: '[fe80::1%eth0]:1' } }],
  ] as const)('CTL-06: the address %j', (local, address) => {
    const source = new Source();
    source.shown = { ...socket, local };
    expect(ask('GetSocket', { socket_id: '9' }, source)).toMatchObject({ socket: { local: address } });
  });
});

describe('what is asked for', () => {
  it('CTL-07: pages are of 100 where no size is asked for, and never of more', () => {
    const source = new Source();
    ask('GetTopChannels', { start_channel_id: '5', max_results: '0' }, source);
    ask('GetServers', { start_server_id: '6', max_results: '3' }, source);
    ask('GetServerSockets', { server_id: '1', start_socket_id: '7', max_results: '9223372036854775807' }, source);
    expect(source.asked).toEqual([
      [5, 100],
      [6, 3],
      [1, 7, 100],
    ]);
  });

  it('CTL-08: a negative size of a page is INVALID_ARGUMENT', () => {
    for (const method of ['GetTopChannels', 'GetServers', 'GetServerSockets'])
      expect(ask(method, { max_results: '-1' })).toEqual({ code: 3, details: 'max_results must not be negative' });
  });

  it.each([
    ['GetChannel', 'channel', 'channel_id'],
    ['GetSubchannel', 'subchannel', 'subchannel_id'],
    ['GetServer', 'server', 'server_id'],
    ['GetServerSockets', 'server', 'server_id'],
    ['GetSocket', 'socket', 'socket_id'],
  ])('CTL-08: %s of an id that is not there is NOT_FOUND', (method, kind, field) => {
    expect(ask(method, { [field]: '0' })).toEqual({ code: 5, details: `no ${kind} has the id 0` });
  });
});
