import { createHash, timingSafeEqual } from 'node:crypto';
import http from 'node:http';
import { type AdminState, type Answer, createEndpoints } from './endpoints.js';

export interface AdminOptions {
  /** Makes the server listen; resolves to the address really bound, rejects with one sentence. */
  readonly bind: (server: http.Server) => Promise<string>;
  readonly listen:
    | { readonly kind: 'tcp'; readonly host: string; readonly port: number }
    | { readonly kind: 'unix'; readonly path: string };
  readonly hosts: readonly string[];
  /** The bearer token; null where there is none. */
  readonly token: string | null;
  readonly state: AdminState;
}

/** The admin listener. */
export interface Admin {
  /** Rejects with one sentence. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** As really bound; null before. */
  readonly address: string | null;
}

const limits = { maxHeaderSize: 16 * 1024, headersTimeout: 5000, requestTimeout: 10_000, keepAliveTimeout: 5000 };

export function createAdmin(options: AdminOptions): Admin {
  const { listen } = options;
  const answer = createEndpoints(options.state, {
    hosts: new Set(options.hosts.map((host) => host.toLowerCase())),
    beyondLoopback: listen.kind === 'tcp' && !isLoopback(listen.host),
    isToken: tokenCheck(options.token),
  });
  let address: string | null = null;

  const server = http.createServer(limits, (request, response) => {
    request.resume();
    const { method = '', url = '/', headers } = request;
    const { host, origin, authorization } = headers;
    const site = headers['sec-fetch-site'];
    const fetchSite = typeof site === 'string' ? site : undefined;
    // A unix socket has no name to be tricked with, and its clients send whatever Host they like.
    const facts = { method, host: listen.kind === 'unix' ? 'localhost' : host, origin, fetchSite, authorization };
    send(response, method, answer(facts, url));
  });
  server.maxConnections = 256;

  return {
    async start() {
      address = await options.bind(server);
    },
    stop() {
      return new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
    get address() {
      return address;
    },
  };
}

function send(response: http.ServerResponse, method: string, { status, body, headers }: Answer): void {
  const text = `${JSON.stringify(body)}\n`;
  response.writeHead(status, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...headers,
  });
  response.end(method === 'HEAD' ? undefined : text);
}

/** 127.0.0.0/8, ::1, and both as IPv6 carries IPv4. */
function isLoopback(host: string): boolean {
  return host === '::1' || host === 'localhost' || /^(::ffff:)?127\./i.test(host);
}

/** Hashes first, so that neither the bytes nor the length can be timed. */
function tokenCheck(token: string | null): (given: string) => boolean {
  if (token === null || token === '') return () => false;
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  const expected = digest(token);
  return (given) => timingSafeEqual(digest(given), expected);
}
