import { promises as dns } from 'node:dns';
import type { Answer } from './resolution.js';

/** A name to ask for. */
export interface HostName {
  readonly host: string;
  /** The DNS server, `IP:port`; null: the system's resolver. */
  readonly authority: string | null;
}

/** Asks for one name. */
export interface Lookup {
  /** Rejects with an Error whose message is a phrase without the name: `no such name`. One at a time. */
  ask(): Promise<Answer>;
  /** What is under way brings nothing any more. */
  stop(): void;
}

/** A DNS server has so long for one question (ms), and is asked so often, each time a little longer. */
const serverTimeout = 2000;
const serverTries = 2;

const words: Readonly<Record<string, string>> = {
  ENOTFOUND: 'no such name',
  ENODATA: 'the name has no addresses',
  EAI_AGAIN: 'the system cannot resolve names at the moment',
  ESERVFAIL: 'the DNS server failed (SERVFAIL)',
  EREFUSED: 'the DNS server refuses to answer (REFUSED)',
  EFORMERR: 'the DNS server did not understand the question (FORMERR)',
  ENOTIMP: 'the DNS server does not answer such questions (NOTIMP)',
  EBADRESP: 'the answer of the DNS server is broken',
  ETIMEOUT: 'no answer from the DNS server',
  ECONNREFUSED: 'nobody answers at the address of the DNS server',
};

/** The name has no address of this family: an answer, not a failure. */
const none: ReadonlySet<string> = new Set(['ENODATA', 'ENOTFOUND']);

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}

function problemOf(error: unknown): Error {
  const message = error instanceof Error ? error.message : String(error);
  return new Error(words[codeOf(error)] ?? message, { cause: error });
}

/**
 * Without an authority by the resolver of @grpc/grpc-js: the system's, hosts file and all. With one by Node's, which
 * grpc-js reaches only under a switch that holds for the whole process (ADR 6).
 */
export function createLookup(name: HostName): Lookup {
  return name.authority === null ? systemLookup(name.host) : serverLookup(name.host, name.authority);
}

function systemLookup(host: string): Lookup {
  let cancel: () => void = () => {};
  return {
    async ask() {
      // Loaded with the first name: it takes longer to load than the rest of the proxy.
      const { experimental } = await import('@grpc/grpc-js');
      const addresses = await new Promise<readonly string[] | null>((resolve) => {
        const resolver = experimental.createResolver(
          // The port is not used, and would be 443 by default.
          { scheme: 'dns', path: `${host}:1` },
          (result) => {
            resolve(result.ok ? result.value.flatMap((endpoint) => endpoint.addresses.flatMap(hostOf)) : null);
            resolver.destroy();
            return true;
          },
          { 'grpc.service_config_disable_resolution': 1 },
        );
        cancel = () => resolver.destroy();
        resolver.updateResolution();
      });
      if (addresses !== null) return { addresses, unsure: null };
      // Its error does not say why.
      try {
        const found = await dns.lookup(host, { all: true });
        return { addresses: found.map(({ address }) => address), unsure: null };
      } catch (error) {
        throw problemOf(error);
      }
    },
    stop: () => cancel(),
  };
}

function hostOf(address: object): readonly string[] {
  return 'host' in address && typeof address.host === 'string' ? [address.host] : [];
}

function serverLookup(host: string, authority: string): Lookup {
  const resolver = new dns.Resolver({ timeout: serverTimeout, tries: serverTries });
  resolver.setServers([authority]);
  return {
    async ask() {
      const [four, six] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
      const addresses = [four, six].flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
      const failed = ([4, 6] as const).flatMap((version) => {
        const result = version === 4 ? four : six;
        return result.status === 'rejected' ? [{ version, error: result.reason as unknown }] : [];
      });
      const broken = failed.filter(({ error }) => !none.has(codeOf(error)));
      const [first = failed[0]] = broken;
      if (first === undefined) return { addresses, unsure: null };
      if (addresses.length === 0) throw problemOf(first.error);
      const [unsure] = broken;
      return {
        addresses,
        unsure: unsure === undefined ? null : { version: unsure.version, problem: problemOf(unsure.error).message },
      };
    },
    stop: () => resolver.cancel(),
  };
}
