import path from 'node:path';
import * as grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import descriptor, { type IFileDescriptorProto } from 'protobufjs/ext/descriptor.js';
import { Happenings } from '../../support/alive.js';

type Fields = Readonly<Record<string, unknown>>;

export interface Ref {
  readonly name: string;
  readonly channel_id?: string;
  readonly subchannel_id?: string;
  readonly server_id?: string;
  readonly socket_id?: string;
}

/** A channel, subchannel or server, as grpc-js reads it. */
export interface Looked {
  readonly ref: Ref;
  readonly data: {
    readonly state?: { readonly state: string };
    readonly target?: string;
    readonly calls_started: string;
    readonly calls_succeeded: string;
    readonly calls_failed: string;
    readonly last_call_started_timestamp: { readonly seconds: string } | null;
  };
  readonly subchannel_ref: readonly Ref[];
  readonly socket_ref: readonly Ref[];
  readonly listen_socket: readonly Ref[];
}

interface TcpAddress {
  readonly tcpip_address?: { readonly ip_address: Buffer; readonly port: number };
  readonly uds_address?: { readonly filename: string };
}

export interface LookedSocket {
  readonly ref: Ref;
  readonly data: Fields | null;
  readonly local: TcpAddress | null;
  readonly remote: TcpAddress | null;
  readonly remote_name: string;
  readonly security: {
    readonly tls: {
      readonly standard_name: string;
      readonly local_certificate: Buffer;
      readonly remote_certificate: Buffer;
    };
  } | null;
}

export interface Answers {
  readonly GetTopChannels: { readonly channel: readonly Looked[]; readonly end: boolean };
  readonly GetServers: { readonly server: readonly Looked[]; readonly end: boolean };
  readonly GetServerSockets: { readonly socket_ref: readonly Ref[]; readonly end: boolean };
  readonly GetServer: { readonly server: Looked };
  readonly GetChannel: { readonly channel: Looked };
  readonly GetSubchannel: { readonly subchannel: Looked };
  readonly GetSocket: { readonly socket: LookedSocket };
}

const channelz = grpc.getChannelzServiceDefinition();

/** A stock grpc-js client of what the control address tells. */
export class Looker {
  private readonly client: grpc.Client;
  private readonly metadata = new grpc.Metadata();

  constructor(target: string, token?: string) {
    this.client = new grpc.Client(target, grpc.credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
    if (token !== undefined) this.metadata.set('authorization', `Bearer ${token}`);
  }

  /** Rejects with `CODE details`. */
  ask<M extends keyof Answers>(name: M, request: Fields = {}): Promise<Answers[M]> {
    const { path: method, requestSerialize, responseDeserialize } = channelz[name];
    return new Promise((resolve, reject) => {
      this.client.makeUnaryRequest(
        method,
        requestSerialize as (value: Fields) => Buffer,
        responseDeserialize as unknown as (bytes: Buffer) => Answers[M],
        request,
        this.metadata,
        (error, answer) => {
          if (error !== null || answer === undefined) reject(new Error(`${error?.code} ${error?.details}`));
          else resolve(answer);
        },
      );
    });
  }

  reflect(version: 'v1' | 'v1alpha'): Reflection {
    const { path: method, requestSerialize, responseDeserialize } = reflectionService(version);
    return new Reflection(
      this.client.makeBidiStreamRequest(method, requestSerialize, responseDeserialize, this.metadata),
    );
  }

  close(): void {
    this.client.close();
  }
}

interface ReflectionAnswer {
  readonly listServicesResponse?: { readonly service: readonly { readonly name: string }[] };
  readonly fileDescriptorResponse?: { readonly fileDescriptorProto: readonly Buffer[] };
  readonly errorResponse?: { readonly errorCode: number; readonly errorMessage: string };
}

function reflectionService(version: string): grpc.MethodDefinition<Fields, ReflectionAnswer> {
  const name = `grpc.reflection.${version}.ServerReflection`;
  const definitions = loadSync(
    path.resolve(`node_modules/@grpc/reflection/build/proto/grpc/reflection/${version}/reflection.proto`),
    {
      oneofs: false,
    },
  );
  const service = definitions[name] as unknown as Record<
    'ServerReflectionInfo',
    grpc.MethodDefinition<Fields, ReflectionAnswer>
  >;
  return service.ServerReflectionInfo;
}

/** One reflection stream. */
export class Reflection {
  private readonly answers: ReflectionAnswer[] = [];
  private status: string | null = null;
  private readonly happenings = new Happenings();
  private readonly call: grpc.ClientDuplexStream<Fields, ReflectionAnswer>;

  constructor(call: grpc.ClientDuplexStream<Fields, ReflectionAnswer>) {
    this.call = call;
    call.on('data', (answer: ReflectionAnswer) => {
      this.answers.push(answer);
      this.happenings.changed();
    });
    call.on('error', () => {});
    call.on('status', ({ code, details }) => {
      this.status = `${code} ${details}`;
      this.happenings.changed();
    });
  }

  /** The answer to it: one at a time. */
  ask(request: Fields): Promise<ReflectionAnswer> {
    const at = this.answers.length;
    this.call.write(request);
    return this.happenings.until(`an answer to ${JSON.stringify(request)}`, () => {
      if (this.status !== null) throw new Error(this.status);
      return this.answers[at];
    });
  }

  async services(): Promise<readonly string[]> {
    const { listServicesResponse } = await this.ask({ listServices: '*' });
    return (listServicesResponse?.service ?? []).map(({ name }) => name);
  }

  /** The file that declares a symbol and all that those with it need, by name. */
  async files(symbol: string): Promise<ReadonlyMap<string, IFileDescriptorProto>> {
    const { fileDescriptorResponse, errorResponse } = await this.ask({ fileContainingSymbol: symbol });
    if (errorResponse !== undefined) throw new Error(`${errorResponse.errorCode} ${errorResponse.errorMessage}`);
    const files = (fileDescriptorResponse?.fileDescriptorProto ?? []).map(
      (bytes) => descriptor.FileDescriptorProto.decode(bytes) as IFileDescriptorProto,
    );
    return new Map(files.map((file) => [file.name ?? '', file]));
  }

  finish(): void {
    this.call.end();
  }

  ended(): Promise<string> {
    return this.happenings.until('the status', () => this.status ?? undefined);
  }
}
