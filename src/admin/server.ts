import http from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { tokenCheck } from '../runtime/bearer.js';
import { isBeyondLoopback } from '../runtime/loopback.js';
import { formatEndpoint } from '../upstream/endpoint.js';
import type { AdminState, Answer } from './admin-state.js';
import { createEndpoints } from './endpoints.js';

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
  /** A fault of ours, which that one request is answered 500 for. */
  readonly onDefect: (error: unknown) => void;
}

/** The admin listener. */
export interface Admin {
  /** Rejects with one sentence. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** As really bound; null before. */
  readonly address: string | null;
}

/** No client may hold a connection by saying little (ms); what one may say before its body (bytes). */
const limits = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: 5000,
  requestTimeout: 10_000,
  keepAliveTimeout: 5000,
  // How often the first two are looked at: Node does so every 30 s, for which silent connections held every place.
  connectionsCheckingInterval: 1000,
};
const maxConnections = 256;

export function createAdmin(options: AdminOptions): Admin {
  const { listen } = options;
  const answer = createEndpoints(options.state, {
    hosts: new Set(options.hosts.map((host) => host.toLowerCase())),
    get beyondLoopback() {
      return beyondLoopback;
    },
    isToken: tokenCheck(options.token),
  });
  let address: string | null = null;
  /** Until it is known, the worse. */
  let beyondLoopback = true;

  const server = http.createServer(limits, (request, response) => {
    const { method = '', url = '/', headers } = request;
    const { host, origin, authorization } = headers;
    const facts = {
      method,
      // A unix socket has no name to be tricked with, and its clients send whatever Host they like.
      host: listen.kind === 'unix' ? 'localhost' : host,
      origin,
      fetchSite: oneOf(headers['sec-fetch-site']),
      fetchMode: oneOf(headers['sec-fetch-mode']),
      fetchDest: oneOf(headers['sec-fetch-dest']),
      authorization,
    };
    // No endpoint reads a body: whoever sends one is answered and the connection closed, not listened to.
    if (hasBody(headers)) response.setHeader('connection', 'close');
    void respond(response, method, () => answer(facts, url, peerOf(request.socket), oneOf(headers['last-event-id'])));
  });

  /** Never rejects. What is answered at once is made in the turn of its request. */
  async function respond(
    response: http.ServerResponse,
    method: string,
    make: () => Answer | Promise<Answer>,
  ): Promise<void> {
    let made: Answer;
    let begun: Begun | null = null;
    try {
      made = await make();
      if (made.pieces !== undefined && method !== 'HEAD') begun = await begin(made.pieces());
    } catch (error) {
      options.onDefect(error);
      made = { status: 500, body: { error: 'a defect of the proxy kept it from answering; the log tells more' } };
    }
    if (begun !== null) await pour(response, made, begun).catch(onCut);
    else if (made.stream === undefined || method === 'HEAD') send(response, method, made);
    else {
      try {
        stream(response, made, made.stream);
      } catch (error) {
        onCut(error);
      }
    }

    function onCut(error: unknown): void {
      options.onDefect(error);
      response.destroy();
    }
  }
  server.maxConnections = maxConnections;
  server.on('clientError', refuse);

  return {
    async start() {
      address = await options.bind(server);
      beyondLoopback = isBeyondLoopback(server.address());
      // Out of file descriptors, a server emits an error and goes on; without a listener that would end the process.
      server.on('error', () => {});
    },
    stop() {
      options.state.watch.hub.stop();
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

/** Who asks, for the log. */
function peerOf({ remoteAddress, remotePort }: Socket): string {
  if (remoteAddress === undefined) return 'a client';
  return formatEndpoint({ kind: 'tcp', host: remoteAddress, port: remotePort ?? 0 });
}

const always = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };

function send(response: http.ServerResponse, method: string, answer: Answer): void {
  const { status, body, type, headers } = answer;
  if (answer.pieces !== undefined) {
    // HEAD: nobody knows how long the body would be.
    response.writeHead(status, { 'content-type': type, ...always, ...headers });
    response.end();
    return;
  }
  const text = type === undefined ? `${JSON.stringify(body)}\n` : String(body);
  response.writeHead(status, {
    'content-type': type ?? 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    ...always,
    ...headers,
  });
  response.end(method === 'HEAD' ? undefined : text);
}

/** A body in pieces of which the first is there: a fault before it is answered 500. */
interface Begun {
  readonly pieces: AsyncGenerator<Buffer, void>;
  readonly first: IteratorResult<Buffer, void>;
}

async function begin(pieces: AsyncGenerator<Buffer, void>): Promise<Begun> {
  return { pieces, first: await pieces.next() };
}

/** A reader that takes nothing of a long body for so long is cut off (ms). */
const patience = 15_000;

/** Asks for a piece when the one before has gone. Rejects for a fault of ours. */
async function pour(
  response: http.ServerResponse,
  { status, type, headers }: Answer,
  { pieces, first }: Begun,
): Promise<void> {
  response.on('error', () => {});
  response.setTimeout(patience, () => response.destroy());
  try {
    if (response.destroyed) return;
    response.writeHead(status, { 'content-type': type, ...always, ...headers });
    for (let step = first; step.done !== true && !response.destroyed; step = await pieces.next())
      if (!response.write(step.value)) await hasRoom(response);
    response.end();
  } finally {
    await pieces.return();
  }
}

/** Resolves once more may be written, or nothing ever again. */
function hasRoom(response: http.ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    if (response.destroyed) resolve();
    const go = (): void => {
      response.off('drain', go);
      response.off('close', go);
      resolve();
    };
    response.on('drain', go);
    response.on('close', go);
  });
}

/** A body without an end of its own. No timeout of the server's cuts it: those are for requests. */
function stream(
  response: http.ServerResponse,
  { status, type, headers }: Answer,
  begin: NonNullable<Answer['stream']>,
): void {
  response.writeHead(status, { 'content-type': type, ...always, ...headers });
  const { socket } = response;
  const onGone = begin({
    write: (bytes) => void response.write(bytes),
    end: () => void response.end(),
    cut: () => void response.destroy(),
    get unsent() {
      return response.writableLength;
    },
    get taken() {
      return socket === null ? 0 : socket.bytesWritten - socket.writableLength;
    },
  });
  response.on('close', onGone);
  // A reader that goes while it is written to is no more than one that goes.
  response.on('error', () => {});
}

/** A header's value; Node joins repeated ones with a comma. */
function oneOf(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function hasBody(headers: http.IncomingHttpHeaders): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/** What cannot be read as HTTP is told so, once. */
function refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (!socket.writable || error.code === 'ECONNRESET') {
    socket.destroy();
    return;
  }
  const [status, sentence] = parseRefusals.get(error.code) ?? ['400 Bad Request', 'this is no HTTP/1.1 request'];
  const text = `${JSON.stringify({ error: sentence })}\n`;
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${text.length}\r\n` +
      `connection: close\r\n\r\n${text}`,
    () => socket.destroy(),
  );
}

const parseRefusals: ReadonlyMap<string | undefined, readonly [status: string, sentence: string]> = new Map([
  ['HPE_HEADER_OVERFLOW', ['431 Request Header Fields Too Large', 'the request has more than 16 KiB of headers']],
  ['ERR_HTTP_REQUEST_TIMEOUT', ['408 Request Timeout', 'the request did not come within its time']],
]);
