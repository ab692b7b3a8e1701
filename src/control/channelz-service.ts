import {
  getChannelzServiceDefinition,
  type handleUnaryCall,
  type ServerUnaryCall,
  type ServiceDefinition,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { Status } from '../grpc/status.js';
import { channelMessage, serverMessage, socketMessage, socketRef, subchannelMessage } from './channelz-messages.js';
import type { ChannelzSource, Page } from './channelz-types.js';

/** Items of a page where none are asked for, and at most: what gRPC's C-core has. */
const pageSize = 100;

/** The fields of all requests, as grpc-js's definition gives them: int64 as text, `0` for what is absent. */
export interface ChannelzRequest {
  readonly start_channel_id?: string;
  readonly start_server_id?: string;
  readonly start_socket_id?: string;
  readonly max_results?: string;
  readonly channel_id?: string;
  readonly subchannel_id?: string;
  readonly server_id?: string;
  readonly socket_id?: string;
}

/** Why a request is not answered. */
export interface Refusal {
  readonly code: typeof Status.INVALID_ARGUMENT | typeof Status.NOT_FOUND | typeof Status.UNAUTHENTICATED;
  readonly details: string;
}

/** grpc.channelz.v1.Channelz (gRFC A14), of the data path's connections. */
export interface ChannelzService {
  readonly definition: ServiceDefinition;
  readonly implementation: UntypedServiceImplementation;
}

/** @param admit what is wrong with the caller's credentials; null: nothing */
export function createChannelzService(
  source: ChannelzSource,
  admit: (call: ServerUnaryCall<ChannelzRequest, object>) => string | null,
): ChannelzService {
  const unary =
    (answerTo: (request: ChannelzRequest) => object | Refusal): handleUnaryCall<ChannelzRequest, object> =>
    (call, answer) => {
      const details = admit(call);
      const made = details === null ? answerTo(call.request) : { code: Status.UNAUTHENTICATED, details };
      if (isRefusal(made)) answer(made);
      else answer(null, made);
    };
  return {
    definition: getChannelzServiceDefinition(),
    implementation: Object.fromEntries(
      Object.entries(channelzMethods(source)).map(([name, answerTo]) => [name, unary(answerTo)]),
    ),
  };
}

/** The service's methods as functions of their requests. */
export function channelzMethods(
  source: ChannelzSource,
): Record<string, (request: ChannelzRequest) => object | Refusal> {
  return {
    GetTopChannels: ({ start_channel_id, max_results }) =>
      page(
        max_results,
        (most) => source.channels(Number(start_channel_id), most),
        ({ items, end }) => ({ channel: items.map(channelMessage), end }),
      ),
    GetServers: ({ start_server_id, max_results }) =>
      page(
        max_results,
        (most) => source.servers(Number(start_server_id), most),
        ({ items, end }) => ({ server: items.map(serverMessage), end }),
      ),
    GetServerSockets: ({ server_id, start_socket_id, max_results }) =>
      page(
        max_results,
        (most) =>
          source.serverSockets(Number(server_id), Number(start_socket_id), most) ?? notFound('server', server_id),
        ({ items, end }) => ({ socket_ref: items.map(socketRef), end }),
      ),
    GetServer({ server_id }) {
      const server = source.server(Number(server_id));
      return server === null ? notFound('server', server_id) : { server: serverMessage(server) };
    },
    GetChannel({ channel_id }) {
      const channel = source.channel(Number(channel_id));
      return channel === null ? notFound('channel', channel_id) : { channel: channelMessage(channel) };
    },
    GetSubchannel({ subchannel_id }) {
      const subchannel = source.subchannel(Number(subchannel_id));
      return subchannel === null
        ? notFound('subchannel', subchannel_id)
        : { subchannel: subchannelMessage(subchannel) };
    },
    GetSocket({ socket_id }) {
      const socket = source.socket(Number(socket_id));
      return socket === null ? notFound('socket', socket_id) : { socket: socketMessage(socket) };
    },
  };
}

function page<T>(
  maxResults: string | undefined,
  find: (most: number) => Page<T> | Refusal,
  show: (page: Page<T>) => object,
): object | Refusal {
  const wanted = Number(maxResults ?? 0);
  if (wanted < 0) return { code: Status.INVALID_ARGUMENT, details: 'max_results must not be negative' };
  const found = find(wanted === 0 ? pageSize : Math.min(wanted, pageSize));
  return isRefusal(found) ? found : show(found);
}

function notFound(kind: string, id: string | undefined): Refusal {
  return { code: Status.NOT_FOUND, details: `no ${kind} has the id ${Number(id)}` };
}

function isRefusal(made: object | Refusal): made is Refusal {
  return 'code' in made;
}
