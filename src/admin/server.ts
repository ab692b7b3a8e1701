import { createHash, timingSafeEqual } from 'node:crypto';
import http from 'node:http';
import net from 'node:net';
import type { UpstreamBackend } from '../upstream/types.js';
import { admit } from './admission.js';
import { describeBackend, isUp } from './backend-state.js';

/** What the admin endpoints tell, read when asked. */
export interface AdminState {
  readonly draining: () => boolean;
  readonly backends: () => readonly UpstreamBackend[];
  /** Clock milliseconds. */
  readonly now: () => number;
}

export interface AdminOptions {
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

interface Answer {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

const limits = { maxHeaderSize: 16 * 1024, headersTimeout: 5000, requestTimeout: 10_000, keepAliveTimeout: 5000 };

export function createAdmin(options: AdminOptions): Admin {
  const { listen, state } = options;
  const rules = {
    hosts: new Set(options.hosts.map((host) => host.toLowerCase())),
    beyondLoopback: listen.kind === 'tcp' && !isLoopback(listen.host),
    isToken: tokenCheck(options.token),
  };
  let address: string | null = null;

  const server = http.createServer(limits, (request, response) => {
    request.resume();
    const { method = '' } = request;
    const { host, origin, authorization } = request.headers;
    const site = request.headers['sec-fetch-site'];
    const fetchSite = typeof site === 'string' ? site : undefined;
    // A unix socket has no name to be tricked with, and its clients send whatever Host they like.
    const facts = { method, host: listen.kind === 'unix' ? 'localhost' : host, origin, fetchSite, authorization };
    const refusal = admit(facts, rules);
    if (refusal === null) send(response, method, answer(method, pathOf(request.url)));
    else send(response, method, { status: refusal.status, body: { error: refusal.message } });
  });
  server.maxConnections = 256;

  function answer(method: string, path: string): Answer {
    const endpoint = endpoints[path];
    if (endpoint === undefined) {
      return { status: 404, body: { error: `there is no ${path}; see ${Object.keys(endpoints).join(', ')}` } };
    }
    if (method !== 'GET' && method !== 'HEAD') {
      return { status: 405, body: { error: `${path} answers GET and HEAD` }, headers: { allow: 'GET, HEAD' } };
    }
    return endpoint();
  }

  const endpoints: Readonly<Record<string, () => Answer>> = {
    '/healthz': () => ({ status: 200, body: { status: 'alive' } }),
    '/readyz': () => {
      if (state.draining()) return { status: 503, body: { status: 'draining' } };
      const up = state.backends().filter(isUp).length;
      return up > 0
        ? { status: 200, body: { status: 'ready', connected_backends: up } }
        : { status: 503, body: { status: 'no backend has a live connection' } };
    },
    '/backends': () => {
      const now = state.now();
      return { status: 200, body: { backends: state.backends().map((backend) => describeBackend(backend, now)) } };
    },
  };

  return {
    start() {
      return new Promise((resolve, reject) => {
        server.once('error', (error: NodeJS.ErrnoException) => reject(new Error(bindProblem(listen, error))));
        const done = (): void => {
          const bound = server.address();
          if (bound === null || typeof bound === 'string')
            address = listen.kind === 'unix' ? `unix:${listen.path}` : '';
          else
            address = net.isIPv6(bound.address) ? `[${bound.address}]:${bound.port}` : `${bound.address}:${bound.port}`;
          resolve();
        };
        if (listen.kind === 'unix') server.listen(listen.path, done);
        else server.listen(listen.port, listen.host, done);
      });
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

/** Without the query. */
function pathOf(url = '/'): string {
  const end = url.indexOf('?');
  return end === -1 ? url : url.slice(0, end);
}

function isLoopback(host: string): boolean {
  return host === '::1' || host === 'localhost' || /^127\./.test(host);
}

/** Hashes first, so that neither the bytes nor the length can be timed. */
function tokenCheck(token: string | null): (given: string) => boolean {
  if (token === null || token === '') return () => false;
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  const expected = digest(token);
  return (given) => timingSafeEqual(digest(given), expected);
}

function bindProblem(listen: AdminOptions['listen'], error: NodeJS.ErrnoException): string {
  const place = listen.kind === 'unix' ? `unix:${listen.path}` : `${listen.host}:${listen.port}`;
  if (error.code === 'EADDRINUSE') return `--admin ${place}: the address is in use; choose another, or --admin off`;
  return `--admin ${place}: ${error.message}`;
}
