import { ipBytes } from '../config/ip.js';
import type {
  CallCounts,
  ChannelSnapshot,
  ChannelzAddress,
  ChannelzRef,
  ChannelzTls,
  ServerSnapshot,
  SocketSnapshot,
  SocketTraffic,
} from './channelz-types.js';

/*
 * Snapshots as messages of grpc.channelz.v1, whose field names these are. A field that is absent here is absent on the wire:
 * nothing is told that is not counted.
 */

interface Timestamp {
  readonly seconds: number;
  readonly nanos: number;
}

export function channelRef({ id, name }: ChannelzRef) {
  return { channel_id: id, name };
}

export function subchannelRef({ id, name }: ChannelzRef) {
  return { subchannel_id: id, name };
}

export function serverRef({ id, name }: ChannelzRef) {
  return { server_id: id, name };
}

export function socketRef({ id, name }: ChannelzRef) {
  return { socket_id: id, name };
}

export function channelMessage(channel: ChannelSnapshot) {
  return {
    ref: channelRef(channel.ref),
    data: channelData(channel),
    subchannel_ref: channel.subchannels.map(subchannelRef),
    socket_ref: channel.sockets.map(socketRef),
  };
}

export function subchannelMessage(channel: ChannelSnapshot) {
  return {
    ref: subchannelRef(channel.ref),
    data: channelData(channel),
    socket_ref: channel.sockets.map(socketRef),
  };
}

export function serverMessage({ ref, calls, listening }: ServerSnapshot) {
  return {
    ref: serverRef(ref),
    ...(calls === null ? {} : { data: callCounts(calls) }),
    listen_socket: listening.map(socketRef),
  };
}

export function socketMessage({ ref, local, remote, remoteName, tls, traffic }: SocketSnapshot) {
  return {
    ref: socketRef(ref),
    ...(traffic === null ? {} : { data: socketData(traffic) }),
    ...(local === null ? {} : { local: address(local) }),
    ...(remote === null ? {} : { remote: address(remote) }),
    ...(tls === null ? {} : { security: { tls: tlsMessage(tls) } }),
    ...(remoteName === null ? {} : { remote_name: remoteName }),
  };
}

function channelData({ state, target, calls }: ChannelSnapshot) {
  return { state: { state }, target, ...callCounts(calls) };
}

function callCounts({ started, succeeded, failed, lastStarted }: CallCounts) {
  return {
    calls_started: started,
    calls_succeeded: succeeded,
    calls_failed: failed,
    ...(lastStarted === null ? {} : { last_call_started_timestamp: timestamp(lastStarted) }),
  };
}

function socketData(traffic: SocketTraffic) {
  const { started, succeeded, failed, lastRemote, keepalives, localWindow, remoteWindow } = traffic;
  return {
    streams_started: started,
    streams_succeeded: succeeded,
    streams_failed: failed,
    keep_alives_sent: keepalives,
    ...(lastRemote === null ? {} : { last_remote_stream_created_timestamp: timestamp(lastRemote) }),
    local_flow_control_window: { value: localWindow },
    remote_flow_control_window: { value: remoteWindow },
  };
}

function address(at: ChannelzAddress) {
  if (at.kind === 'unix') return { uds_address: { filename: at.path } };
  const bytes = ipBytes(at.host);
  // A scoped address (RFC 4007 11) has no place in four or sixteen bytes.
  if (bytes === null) return { other_address: { name: `[${at.host}]:${at.port}` } };
  return { tcpip_address: { ip_address: Uint8Array.from(bytes), port: at.port } };
}

function tlsMessage({ cipher, local, remote }: ChannelzTls) {
  return {
    standard_name: cipher,
    ...(local === null ? {} : { local_certificate: local }),
    ...(remote === null ? {} : { remote_certificate: remote }),
  };
}

/** @param at milliseconds since 1970 */
function timestamp(at: number): Timestamp {
  const seconds = Math.floor(at / 1000);
  return { seconds, nanos: Math.floor((at - seconds * 1000) * 1e6) };
}
