/**
 * `npm run build && node bench/micro/hpack.mjs [DIST]`: ns per header block, as a gRPC client and a backend send them, on
 * connections that have seen the fields before. Medians of interleaved rounds.
 *
 * A plain script over the built files: a test runner's transform turns each imported binding into a getter, which alone
 * costs more than what is measured here.
 */
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** @typedef {import('../../src/http2/types.js').HeaderField} HeaderField */

const dist = process.argv[2] ?? fileURLToPath(new URL('../../dist', import.meta.url));
/** @param {string} file */
const load = (file) => import(pathToFileURL(path.resolve(dist, 'http2/hpack', file)).href);
const { createHpackDecoder } = await load('decoder.js');
const { createHpackEncoder } = await load('encoder.js');

const rounds = 9;
/** Blocks a round. */
const size = 200_000;
/** Blocks to go through in turn, so that what varies by call does vary; a power of two. */
const calls = 1024;
const room = 16_384;

/** @type {[string, (call: number) => [string, string][]][]} */
const kinds = [
  ['request, 9 fields', request],
  ['request, traced', (call) => [...request(call), ['traceparent', traceparent(call)]]],
  ['request, traced and authorized', (call) => [...request(call), ['traceparent', traceparent(call)], token]],
  [
    'response headers, 3 fields',
    () => [
      [':status', '200'],
      ['content-type', 'application/grpc'],
      ['grpc-accept-encoding', 'identity,deflate,gzip'],
    ],
  ],
  [
    'trailers, 2 fields',
    () => [
      ['grpc-status', '0'],
      ['grpc-message', ''],
    ],
  ],
];

/** @type {[string, string]} */
const token = ['authorization', `Bearer ${'abcDEF0123456789_-.'.repeat(20)}`];

/** @param {number} call @returns {[string, string][]} */
function request(call) {
  return [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', '/shop.v1.Catalogue/GetProduct'],
    [':authority', 'catalogue.shop.svc.cluster.local:50051'],
    ['te', 'trailers'],
    ['content-type', 'application/grpc'],
    ['user-agent', 'grpc-node-js/1.14.7'],
    ['grpc-accept-encoding', 'identity,deflate,gzip'],
    ['grpc-timeout', `${99_000 + call}u`],
  ];
}

/** @param {number} call */
function traceparent(call) {
  const digits = (call * 2_654_435_761 + 1e15).toString(16);
  return `00-${digits.padStart(32, '4bf92f3577b34da6a3ce929d0e0e4736')}-${digits.slice(-8).padStart(16, '0')}-01`;
}

/**
 * The blocks on the wire, after a first one that fills the table.
 * @param {HeaderField[][]} sent @param {number} tableSize
 */
function onWire(sent, tableSize) {
  const encoder = createHpackEncoder(tableSize);
  const out = Buffer.alloc(room);
  /** @param {HeaderField[]} fields */
  const take = (fields) => Buffer.from(out.subarray(0, encoder.encode(fields, out, 0)));
  return { first: take(sent[0] ?? []), later: sent.map(take) };
}

/** @param {HeaderField[][]} sent @returns {[string, (blocks: number) => void][]} */
function cases(sent) {
  const out = Buffer.alloc(room);
  const { first, later } = onWire(sent, 4096);
  const literals = onWire(sent, 0).later;
  const encoder = createHpackEncoder(4096);
  const decoder = createHpackDecoder(4096);
  decoder.decode(first, 0, first.length, room);
  const ofLiterals = createHpackDecoder(4096);
  const relay = createHpackDecoder(4096);
  relay.decode(first, 0, first.length, room);
  const onward = createHpackEncoder(4096);
  return [
    [
      'decode',
      (blocks) => {
        for (let i = 0; i < blocks; i += 1) decodeOne(decoder, later[i & (calls - 1)]);
      },
    ],
    [
      'encode',
      (blocks) => {
        for (let i = 0; i < blocks; i += 1) encoder.encode(sent[i & (calls - 1)], out, 0);
      },
    ],
    [
      'decode, encode onward',
      (blocks) => {
        for (let i = 0; i < blocks; i += 1) onward.encode(decodeOne(relay, later[i & (calls - 1)]), out, 0);
      },
    ],
    [
      'decode, peer has no table',
      (blocks) => {
        for (let i = 0; i < blocks; i += 1) decodeOne(ofLiterals, literals[i & (calls - 1)]);
      },
    ],
  ];
}

/** @param {import('../../src/http2/hpack/types.js').HpackDecoder} decoder @param {Buffer | undefined} block */
function decodeOne(decoder, block) {
  if (block === undefined) throw new Error('no block');
  const result = decoder.decode(block, 0, block.length, room);
  if (!result.ok) throw new Error(result.detail);
  return result.fields;
}

/** @param {number[]} numbers */
function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN;
}

const table = kinds.map(([kind, of]) => {
  const sent = Array.from({ length: calls }, (_, call) =>
    of(call).map(([name, value]) => ({ name, value, neverIndexed: name === 'authorization' })),
  );
  return {
    kind,
    bytes: onWire(sent, 4096).later[1]?.length,
    cases: cases(sent).map(([name, run]) => ({ name, run, ns: [0].slice(1) })),
  };
});
for (let round = 0; round <= rounds; round += 1) {
  for (const { run, ns } of table.flatMap((row) => row.cases)) {
    const start = process.hrtime.bigint();
    run(size);
    // Round 0 warms up.
    if (round > 0) ns.push(Number(process.hrtime.bigint() - start) / size);
  }
}
console.table(
  Object.fromEntries(
    table.map((row) => [
      row.kind,
      { bytes: row.bytes, ...Object.fromEntries(row.cases.map(({ name, ns }) => [name, Math.round(median(ns))])) },
    ]),
  ),
);
