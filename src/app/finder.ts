import type { Address } from '../config/address.js';
import type { BackendSetting } from '../config/backend.js';
import { ownAddress } from '../config/own-listener.js';
import { printable } from '../config/quote.js';
import type { Settings } from '../config/settings.js';
import type { ChannelzSource } from '../control/channelz-types.js';
import type { Control } from '../control/server.js';
import type { RegisteredBackend } from '../control/types.js';
import { type BackendId, backendId } from '../grpc/backend-id.js';
import type { BackendEntry } from '../upstream/backend-set.js';
import { createLookup } from '../upstream/lookup.js';
import { type BackendSources, createBackendSources } from '../upstream/sources.js';
import type { Endpoint } from '../upstream/types.js';
import type { Ports } from './ports.js';

/** `host:port` of the listeners and of the admin server, as really bound, once they are. */
export interface BoundAddresses {
  readonly listen: readonly string[];
  readonly admin: string | null;
}

/** What finding backends begins with. */
export interface FinderOptions {
  /** Those of the endpoints file; empty where there is none. */
  readonly endpoints: readonly BackendSetting[];
  /** IP literals of this machine's interfaces, for what a name may lead to. */
  readonly localAddresses: readonly string[];
  readonly bound: BoundAddresses;
  readonly adminToken: string | null;
  readonly draining: () => boolean;
  /** What channelz tells; asked at the start. Null: nothing. */
  readonly channelz: () => ChannelzSource | null;
}

/** Where the finder tells of what happens. None may throw. */
export interface FinderEvents {
  readonly onClientRefused: (peer: string, detail: string) => void;
  /** A look-up of a backend's name is over. */
  readonly onResolved: (outcome: 'changed' | 'unchanged' | 'failed') => void;
  readonly tell: (level: 'info' | 'warn', fields: Readonly<Record<string, unknown>>, message: string) => void;
  /** There are other names, or a name has another source. */
  readonly onNames?: (() => void) | undefined;
  /** A registration ended with an error (D19): the backend's attempts end in this turn. Before the set is without it. */
  readonly onLost: (id: BackendId, detail: string) => void;
}

/** Which source has a name. */
export type SourceKind = 'flags' | 'file' | 'registry';

/** Which backends there are, wherever they are found. */
export interface Finder {
  readonly sources: Pick<BackendSources, 'specs' | 'has' | 'onChange' | 'refresh' | 'refreshAll'>;
  /** Which source each name has. */
  names(): ReadonlyMap<string, SourceKind>;
  /** Which source has this name; null: none. */
  sourceOf(name: string): SourceKind | null;
  /** Of the control services; null: off, or not started. */
  readonly controlAddress: string | null;
  /** What grpc.health.v1 says of us (D35). */
  setServing(serving: boolean): void;
  /** Binds the control services. Rejects with one sentence. */
  start(): Promise<void>;
  /** Resolves when the names of backends have been asked for once, or at the connect timeout. */
  resolve(): Promise<void>;
  /** The endpoints file says so now. */
  putEndpoints(backends: readonly BackendSetting[]): void;
  stop(): Promise<void>;
}

const flags = '--backend';
const registry = 'the registry';

export function createFinder(settings: Settings, options: FinderOptions, ports: Ports, events: FinderEvents): Finder {
  const { clock, alarms, random, turn } = ports;
  const file = `the endpoints file ${printable(settings.endpoints ?? '')}`;
  /** By name; a loss or a leave of an older generation than this is no news. */
  const registered = new Map<string, { readonly entry: BackendEntry; readonly generation: number }>();
  let control: Control | null = null;

  const sources = createBackendSources(
    {
      sources: [
        { name: flags, entries: settings.backend },
        { name: file, entries: options.endpoints },
        { name: registry, entries: [] },
      ],
      dnsRefresh: settings.dnsRefresh,
    },
    { clock, alarms, random, lookup: createLookup, own },
    { tell: events.tell, onResolved: events.onResolved, onNames: events.onNames },
  );

  /** Port 0 is another one when it is bound. */
  function own(endpoint: Endpoint): string | null {
    const { listen, admin } = options.bound;
    const bound = {
      listen: settings.listen.map((address, at) => boundAt(address, listen[at] ?? null)),
      admin: settings.admin === null ? null : boundAt(settings.admin, admin),
      control: settings.control === null ? null : boundAt(settings.control, control?.address ?? null),
    };
    return ownAddress([endpoint], bound, options.localAddresses);
  }

  function onPut(backend: RegisteredBackend, replaces: number | null): void {
    const { name, target, endpoint, weight, priority, maxCalls, generation } = backend;
    const word = replaces === null ? 'registered' : replaces === generation ? 'changed' : 'registered again';
    events.tell('info', { backend: name, event: 'registered', target }, `backend ${name} has ${word}`);
    const entry: BackendEntry = { name, target, where: { kind: 'one', endpoint }, weight, priority, maxCalls };
    registered.set(name, { entry, generation });
    putRegistered();
  }

  /** D19: its attempts end in this turn. */
  function onLose({ name, generation }: RegisteredBackend, why: string): void {
    if ((registered.get(name)?.generation ?? generation) !== generation || isElsewhere(name)) return;
    const detail = `its registration was lost: ${why}`;
    events.tell('warn', { backend: name, event: 'registration_lost' }, `backend ${name}: ${detail}`);
    events.onLost(backendId(name), detail);
    registered.delete(name);
    putRegistered();
  }

  /** D35: its calls finish. */
  function onDrain({ name, generation }: RegisteredBackend, why: string): void {
    if ((registered.get(name)?.generation ?? generation) !== generation) return;
    events.tell('info', { backend: name, event: 'left' }, `backend ${name} leaves: ${why}`);
    registered.delete(name);
    putRegistered();
  }

  /** Another source has the name: what becomes of a registration that there was is not about its backend. */
  function isElsewhere(name: string): boolean {
    const owner = sources.ownerOf(name);
    return owner !== null && owner !== registry;
  }

  function putRegistered(): void {
    sources.put(
      registry,
      [...registered.values()].map(({ entry }) => entry),
    );
  }

  /** A name that nobody answers for holds the start up for no longer than a connect does. */
  function resolveNames(): Promise<void> {
    return new Promise((resolve) => {
      const late = alarms.set(clock.now() + settings.connectTimeout, resolve);
      void sources.start().then(() => {
        alarms.cancel(late);
        resolve();
      });
    });
  }

  return {
    sources,
    get controlAddress() {
      return control?.address ?? null;
    },
    setServing: (serving) => control?.setServing(serving),
    names: () => new Map([...sources.names()].map(([name, owner]) => [name, kindOf(owner)])),
    sourceOf(name) {
      const owner = sources.ownerOf(name);
      return owner === null ? null : kindOf(owner);
    },
    /** What stands on @grpc/grpc-js is loaded where it is asked for: a start without it is ready sooner. */
    async start() {
      const channelz = options.channelz();
      if (settings.control === null || channelz === null) return;
      const { createControl } = await import('../control/server.js');
      control = createControl({
        listen: settings.control,
        token: options.adminToken,
        registry: {
          onPut,
          onLose,
          onDrain,
          onRefused: (peer, detail) => events.onClientRefused(peer, detail),
          reservedBy: (name) => (isElsewhere(name) ? sources.ownerOf(name) : null),
          ownListener: own,
          draining: options.draining,
        },
        channelz,
        ports: { clock, alarms, turn },
      });
      await control.start();
    },
    resolve: resolveNames,
    putEndpoints(backends) {
      sources.put(file, backends);
      // The file's name goes before a registration of the same one.
      for (const name of registered.keys()) {
        if (!isElsewhere(name)) continue;
        control?.expel(name, `${name} is named by ${sources.ownerOf(name)} now`);
        // The stream is over: the name must not come back from it when the file has let go of it.
        registered.delete(name);
      }
      putRegistered();
    },
    async stop() {
      sources.stop();
      await control?.stop();
    },
  };
}

function kindOf(owner: string): SourceKind {
  return owner === flags ? 'flags' : owner === registry ? 'registry' : 'file';
}

/** @param bound `host:port` as really bound; null: it is not yet */
function boundAt(address: Address, bound: string | null): Address {
  if (address.kind === 'unix' || bound === null) return address;
  return { ...address, port: Number(bound.slice(bound.lastIndexOf(':') + 1)) };
}
