import path from 'node:path';
import * as grpc from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { ChannelzState } from '../../../src/app/channelz-state.js';
import { type Control, type ControlOptions, createControl } from '../../../src/control/server.js';
import type { RegisteredBackend } from '../../../src/control/types.js';
import { alive, Happenings } from '../../support/alive.js';
import { clock, NodeAlarms, turn } from '../../support/node-ports.js';

/** What the app was told, one line each, and a control service that tells it. */
export class ControlRig {
  readonly told: string[] = [];
  readonly refused: string[] = [];
  readonly backends = new Map<string, RegisteredBackend>();
  readonly alarms = new NodeAlarms();
  draining = false;
  reserved: string | null = null;
  readonly control: Control;
  private readonly happenings = new Happenings();
  private readonly clients: RegistryClient[] = [];
  private port_ = 0;

  constructor(options: Partial<ControlOptions> = {}) {
    const tell = (line: string): void => {
      this.told.push(line);
      this.happenings.changed();
    };
    this.control = createControl({
      listen: { kind: 'tcp', host: '127.0.0.1', port: 0 },
      token: null,
      ports: { clock, alarms: this.alarms, turn },
      registry: {
        onPut: (backend, replaces) => {
          this.backends.set(backend.name, backend);
          tell(`put ${backend.name} ${backend.target} ${replaces === null ? 'new' : `over ${replaces}`}`);
        },
        onLose: ({ name, generation }, why) => tell(`lose ${name} ${generation}: ${why}`),
        onDrain: ({ name, generation }, why) => tell(`drain ${name} ${generation}: ${why}`),
        onRefused: (peer, detail) => {
          this.refused.push(`${peer} ${detail}`);
          this.happenings.changed();
        },
        reservedBy: (name) => (name === 'flag' ? '--backend' : this.reserved),
        ownListener: (at) => (at.kind === 'tcp' && at.port === 50_051 ? '--listen 127.0.0.1:50051' : null),
        draining: () => this.draining,
      },
      channelz: new ChannelzState({ clock, listening: () => [], calls: () => null }),
      ...options,
    });
  }

  async start(): Promise<this> {
    const address = await this.control.start();
    this.port_ = Number(address.split(':').at(-1));
    return this;
  }
  get port(): number {
    return this.port_;
  }
  /** Resolves when the app has been told so many things, or this one. */
  whenTold(what: number | string): Promise<string[]> {
    return this.happenings.until(`${what} to be told`, () => {
      const there = typeof what === 'number' ? this.told.length >= what : this.told.includes(what);
      return there ? this.told : undefined;
    });
  }
  client(target = `127.0.0.1:${this.port}`, options: grpc.ClientOptions = {}): RegistryClient {
    const client = new RegistryClient(target, options);
    this.clients.push(client);
    return client;
  }
  async stop(): Promise<void> {
    for (const client of this.clients) client.close();
    await alive('the control services to stop', this.control.stop());
  }
}

export interface Reply {
  readonly registered?: { readonly generation: number; readonly heartbeatIntervalMs: number };
  readonly updated?: object;
  readonly rejected?: { readonly reason: string };
  readonly left?: object;
}

export const protoRoot = path.resolve('protos');
const options = { includeDirs: [protoRoot], longs: Number, enums: String };
const registryDefinition = loadSync('hedgerow/registry/v1/registry.proto', options);
const healthDefinition = loadSync('grpc/health/v1/health.proto', options);

const registryService = registryDefinition['hedgerow.registry.v1.Registry'] as unknown as {
  readonly Register: grpc.MethodDefinition<object, Reply>;
};
/** RegisterRequest as bytes. */
export const encodeRequest = registryService.Register.requestSerialize;

interface HealthAnswer {
  readonly status: string;
}
const healthService = healthDefinition['grpc.health.v1.Health'] as unknown as {
  readonly Check: grpc.MethodDefinition<object, HealthAnswer>;
  readonly List: grpc.MethodDefinition<object, { readonly statuses: Readonly<Record<string, HealthAnswer>> }>;
  readonly Watch: grpc.MethodDefinition<object, HealthAnswer>;
};

/** A stock grpc-js client of the control services. */
export class RegistryClient {
  private readonly client: grpc.Client;

  constructor(target: string, more: grpc.ClientOptions) {
    this.client = new grpc.Client(target, grpc.credentials.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
      ...more,
    });
  }

  open(metadata = new grpc.Metadata(), callOptions: grpc.CallOptions = {}): Registration {
    const { path: method, requestSerialize, responseDeserialize } = registryService.Register;
    return new Registration(
      this.client.makeBidiStreamRequest(method, requestSerialize, responseDeserialize, metadata, callOptions),
    );
  }

  /** Opens and registers; resolves when it is registered. */
  async register(registration: object): Promise<Registration> {
    const stream = this.open();
    stream.send({ registration });
    const reply = await stream.reply(0);
    if (reply.registered === undefined) throw new Error(`not registered: ${JSON.stringify(reply)}`);
    return stream;
  }

  check(service: string): Promise<string> {
    const { path: method, requestSerialize, responseDeserialize } = healthService.Check;
    return new Promise((resolve) => {
      this.client.makeUnaryRequest(method, requestSerialize, responseDeserialize, { service }, (error, answer) =>
        resolve(error === null ? (answer?.status ?? '') : `${error.code} ${error.details}`),
      );
    });
  }

  list(): Promise<object> {
    const { path: method, requestSerialize, responseDeserialize } = healthService.List;
    return new Promise((resolve, reject) => {
      this.client.makeUnaryRequest(method, requestSerialize, responseDeserialize, {}, (error, answer) =>
        error === null && answer !== undefined ? resolve(answer.statuses) : reject(error),
      );
    });
  }

  watch(service: string): Watch {
    const { path: method, requestSerialize, responseDeserialize } = healthService.Watch;
    return new Watch(this.client.makeServerStreamRequest(method, requestSerialize, responseDeserialize, { service }));
  }

  close(): void {
    this.client.close();
  }
}

/** A watch and what it was told. */
export class Watch {
  readonly statuses: string[] = [];
  private readonly happenings = new Happenings();
  private readonly call: grpc.ClientReadableStream<HealthAnswer>;

  constructor(call: grpc.ClientReadableStream<HealthAnswer>) {
    this.call = call;
    call.on('data', ({ status }: HealthAnswer) => {
      this.statuses.push(status);
      this.happenings.changed();
    });
    call.on('error', () => {});
  }
  when(count: number): Promise<string[]> {
    return this.happenings.until(`${count} statuses`, () =>
      this.statuses.length >= count ? this.statuses : undefined,
    );
  }
  cancel(): void {
    this.call.cancel();
  }
}

/** One registration stream, from the backend's side. */
export class Registration {
  readonly replies: Reply[] = [];
  private status: { readonly code: number; readonly details: string } | null = null;
  private readonly happenings = new Happenings();
  private readonly call: grpc.ClientDuplexStream<object, Reply>;

  constructor(call: grpc.ClientDuplexStream<object, Reply>) {
    this.call = call;
    call.on('data', (reply: Reply) => {
      this.replies.push(reply);
      this.happenings.changed();
    });
    call.on('error', () => {});
    call.on('status', ({ code, details }) => {
      this.status = { code, details };
      this.happenings.changed();
    });
  }
  send(request: object): void {
    this.call.write(request);
  }
  finish(): void {
    this.call.end();
  }
  cancel(): void {
    this.call.cancel();
  }
  reply(index: number): Promise<Reply> {
    return this.happenings.until(`reply ${index}`, () => {
      if (this.replies.length <= index && this.status !== null) throw new Error(`ended ${JSON.stringify(this.status)}`);
      return this.replies[index];
    });
  }
  /** The status, `CODE details`. */
  ended(): Promise<string> {
    return this.happenings.until('the status', () =>
      this.status === null ? undefined : `${this.status.code} ${this.status.details}`,
    );
  }
}
