import http2 from 'node:http2';
import type { AddressInfo } from 'node:net';
import fc from 'fast-check';
import { afterEach, expect, it } from 'vitest';
import type { HeaderField } from '../../../src/http2/types.js';
import { ClientCall, connect, listen } from '../../support/engine-peers.js';
import { startRawBackend } from '../../support/raw-peer.js';

/*
 * What we encode is read alike by node:http2, by our decoder and by the tests' own, which share nothing; and what node:http2
 * encodes is read by ours as it was meant. Many requests on one connection, so that the dynamic table is at work.
 */

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

type Lines = (readonly [name: string, value: string])[];

const names = ['x-a', 'x-b-bin', 'authorization', 'user-agent', 'grpc-timeout', 'x-trace', 'accept', 'x'];
const token = fc.array(fc.constantFrom(...'abcdefghijklmnopqrstuvwxyz0123456789-_.!#$'), {
  minLength: 1,
  maxLength: 30,
});
/** Visible, or over 0x7f; spaces within. What stands for a field's value in RFC 9110 5.5. */
const byte = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 0x21, max: 0x7e }) },
  { weight: 1, arbitrary: fc.constantFrom(0x20, 0x09) },
  { weight: 1, arbitrary: fc.integer({ min: 0x80, max: 0xff }) },
);
const text = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('', '0', 'a', 'Bearer abc', '99999u', 'v'.repeat(300)) },
  {
    weight: 2,
    arbitrary: fc.array(byte, { maxLength: 60 }).map((bytes) => Buffer.from(bytes).toString('latin1').trim()),
  },
);
const name = fc.oneof(
  fc.constantFrom(...names),
  token.map((characters) => `y${characters.join('')}`),
);
/** Names once each: node:http2's API joins lines of one name. */
const list = fc.uniqueArray(fc.tuple(name, text), { maxLength: 10, selector: ([first]) => first });
const lists: Lines[] = fc.sample(list, { numRuns: 300, seed: 7541 });

const pseudo = (at: number): Lines => [
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', `/pkg.Service/Method${at % 7}`],
  [':authority', 'localhost'],
];

/** A node:http2 server that notes the lines of each request and answers with those that are not pseudo-header fields. */
async function nodeServer(seen: Lines[], headerTableSize: number): Promise<number> {
  const server = http2.createServer({ settings: { headerTableSize } });
  server.on('request', ({ stream, headers, rawHeaders }) => {
    stream.on('error', () => {});
    seen.push(rawHeaders.flatMap((each, i) => (i % 2 === 0 ? [[each, rawHeaders[i + 1] ?? ''] as const] : [])));
    const back = Object.entries(headers).filter(([each]) => !each.startsWith(':'));
    stream.respond({ ':status': 200, ...Object.fromEntries(back) });
    stream.end();
  });
  const sessions = new Set<http2.ServerHttp2Session>();
  server.on('session', (session) => sessions.add(session.on('error', () => {})));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanups.push(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

function linesOf(fields: readonly HeaderField[]): Lines {
  return fields.map((field) => [field.name, field.value]);
}

it.each([4096, 0, 200, 65_536])(
  'node:http2, with a table of %i bytes, reads our requests; we read its answers',
  async (size) => {
    const seen: Lines[] = [];
    const peer = await connect(await nodeServer(seen, size), { headerTableSize: 65_536 });
    cleanups.push(() => peer.binding.destroy());
    for (const [at, lines] of lists.entries()) {
      const call = new ClientCall(peer.connection, [...pseudo(at), ...lines], Buffer.alloc(0)).end();
      expect(await call.over.promise).toBeNull();
      expect(seen[at]).toEqual([...pseudo(at), ...lines]);
      // In whatever order its own API gives them back.
      const answered = linesOf(call.headers).filter(([each]) => each !== ':status' && each !== 'date');
      expect(new Map(answered)).toEqual(new Map(lines));
    }
  },
);

it('our own decoder reads our requests', async () => {
  const server = await listen();
  cleanups.push(() => server.close());
  const peer = await connect(server.port);
  cleanups.push(() => peer.binding.destroy());
  for (const [at, lines] of lists.entries()) {
    const call = new ClientCall(peer.connection, [...pseudo(at), ...lines], Buffer.alloc(0)).end();
    expect(await call.over.promise).toBeNull();
    expect(linesOf(server.peers[0]?.echoes[at]?.fields ?? [])).toEqual([...pseudo(at), ...lines]);
  }
});

it('the tests’ own decoder reads our requests', async () => {
  const backend = await startRawBackend();
  cleanups.push(() => backend.close());
  const peer = await connect(backend.port);
  cleanups.push(() => peer.binding.destroy());
  for (const [at, lines] of lists.entries()) {
    const call = new ClientCall(peer.connection, [...pseudo(at), ...lines], Buffer.alloc(0)).end();
    expect(await call.over.promise).toBeNull();
    expect(backend.streams[at]?.headers).toEqual([...pseudo(at), ...lines]);
  }
});
