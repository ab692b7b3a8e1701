import { backendId } from '../../../src/grpc/backend-id.js';
import { defaultHttp2Settings } from '../../../src/http2/types.js';
import { type ConnectedPool, createUpstreamPool, type UpstreamPoolOptions } from '../../../src/upstream/pool.js';
import type { BackendChange, BackendSpec, UpstreamBackend } from '../../../src/upstream/types.js';
import { createVirtualTime } from '../../support/virtual-time.js';
import { Caller, FakeLink } from './fake-link.js';

export const drainTimeout = 30_000;

export function spec(name: string, rest: Partial<BackendSpec> = {}): BackendSpec {
  const endpoint = { kind: 'tcp', host: '127.0.0.1', port: 1000 + name.charCodeAt(0) } as const;
  return { id: backendId(name), name, target: name, endpoint, weight: 1, priority: 0, maxCalls: null, ...rest };
}

/** At another address than `spec` says. */
export function moved(name: string, port = 7): BackendSpec {
  return spec(name, { endpoint: { kind: 'tcp', host: '127.0.0.1', port } });
}

/** A pool on virtual time whose links are moved by the test; links by the port that was dialled, in order. */
export class Pool {
  readonly time = createVirtualTime();
  readonly links: { readonly port: number; readonly link: FakeLink }[] = [];
  readonly changes: BackendChange[] = [];
  readonly pool: ConnectedPool;

  constructor(specs: readonly BackendSpec[], rest: Partial<UpstreamPoolOptions> = {}) {
    const { clock, alarms, turn } = this.time;
    this.pool = createUpstreamPool(
      {
        backends: specs,
        connectTimeout: 2000,
        connectBackoffMax: 5000,
        backendConnections: 2,
        queueLimit: 10,
        drainTimeout,
        settings: defaultHttp2Settings,
        tls: null,
        clock,
        alarms,
        turn,
        random: { next: () => 0.5 },
        onStateChange: (change) => this.changes.push(change),
        ...rest,
      },
      {
        dialOf: (endpoint) => (events) => {
          const link = new FakeLink(events);
          this.links.push({ port: endpoint.kind === 'tcp' ? endpoint.port : 0, link });
          return link;
        },
        secure() {},
      },
    );
    this.pool.start();
    for (const { link } of this.links) link.settings();
  }

  /** The newest link of the backend that a one-letter name has. */
  link(name: string): FakeLink {
    const found = this.links.findLast(({ port }) => port === 1000 + name.charCodeAt(0));
    if (found === undefined) throw new Error(`nobody dialled ${name}`);
    return found.link;
  }

  backend(name: string): UpstreamBackend {
    const found = this.pool.get(backendId(name));
    if (found === undefined) throw new Error(`${name} is not in the pool`);
    return found;
  }

  call(name: string): Caller {
    const caller = new Caller();
    const opened = this.backend(name).tryOpen(caller);
    if (opened === null) this.backend(name).wait(caller);
    else caller.onOpened(opened.stream, opened.connection);
    return caller;
  }

  finish(caller: Caller): void {
    const link = this.links.find(({ link: one }) => one === caller.connection)?.link;
    link?.finish(caller.stream ?? undefined);
  }

  get names(): string {
    return this.pool.backends.map(({ id }) => id).join(' ');
  }
}
