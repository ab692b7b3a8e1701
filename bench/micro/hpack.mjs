/**
 * HPACK: header blocks as a gRPC client and a backend send them, on connections that have seen the fields before.
 * `node bench/micro/hpack.mjs [DIST]`.
 */
import { fromBuild, measure } from './measure.mjs';

/** @typedef {import('../../src/http2/types.js').HeaderField} HeaderField */

const { createHpackDecoder } = await fromBuild('http2/hpack/decoder.js');
const { createHpackEncoder } = await fromBuild('http2/hpack/encoder.js');

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

for (const [kind, of] of kinds) {
  const sent = Array.from({ length: calls }, (_, call) =>
    of(call).map(([name, value]) => ({ name, value, neverIndexed: name === 'authorization' })),
  );
  const bytes = onWire(sent, 4096).later[1]?.length;
  measure(
    `HPACK, a block: ${kind} (${bytes} bytes)`,
    cases(sent).map(([name, run]) => ({ name, run })),
  );
}
