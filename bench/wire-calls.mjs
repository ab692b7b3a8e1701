/** Unary calls as bytes made beforehand, for the generators on raw sockets. */
import { flag, frame, literal, longLiteral, message, type } from './wire.mjs';

/** @typedef {'same' | 'traceparent' | 'authorization'} HeaderSet what varies from call to call */

const methodPostSchemeHttp = Buffer.from([0x83, 0x86]);
/** Calls after which what varies comes again. */
const variants = 512;
/** Clients behind one connection, each with a token of its own. */
const tokens = 64;

/** @param {number} port @returns {readonly [string, string][]} */
function fields(port) {
  return [
    [':authority', `127.0.0.1:${port}`],
    [':path', '/bench.Echo/Unary'],
    ['content-type', 'application/grpc'],
    ['te', 'trailers'],
    ['user-agent', 'bench/1'],
  ];
}

/** 32 hexadecimal digits that differ from call to call. @param {number} call */
function digits(call) {
  return ((call + 1) * 2_654_435_761).toString(16).padStart(32, '4bf92f3577b34da6a3ce929d0e0e4736');
}

/**
 * The field that varies, after those that are the same in each call, as a literal without indexing.
 * @param {HeaderSet} set @param {number} call @returns {Buffer}
 */
function varying(set, call) {
  switch (set) {
    case 'traceparent':
      return literal('traceparent', `00-${digits(call)}-${digits(call).slice(-16)}-01`, false);
    case 'authorization': {
      const token = digits(call % tokens).repeat(32);
      return longLiteral('authorization', `Bearer ${token}`);
    }
    default:
      return Buffer.alloc(0);
  }
}

/**
 * The bytes of calls, with stream id 0: the first of a connection, which fills the peer's table, and those after it.
 * @param {number} port @param {number} bytes of the message @param {HeaderSet} set
 */
export function callTemplates(port, bytes, set) {
  const same = fields(port);
  const body = message(bytes);
  /** @param {Buffer} block */
  const call = (block) =>
    Buffer.concat([frame(type.headers, flag.endHeaders, 0, block), frame(type.data, flag.end, 0, body)]);
  const literals = Buffer.concat([methodPostSchemeHttp, ...same.map(([name, value]) => literal(name, value, true))]);
  const indexed = Buffer.concat([methodPostSchemeHttp, Buffer.from(same.map((_, i) => 0x80 | (61 + same.length - i)))]);
  return {
    bodyBytes: body.length,
    first: call(literals),
    later: Array.from({ length: set === 'same' ? 1 : variants }, (_, i) =>
      call(Buffer.concat([indexed, varying(set, i)])),
    ),
  };
}

/** The HEADERS of a call that does not end, with stream id 0. @param {number} port */
export function openCallTemplates(port) {
  const { first, later } = callTemplates(port, 0, 'same');
  /** @param {Buffer | undefined} call */
  const head = (call) => Buffer.from(call?.subarray(0, 9 + call.readUIntBE(0, 3)) ?? []);
  return { first: head(first), later: head(later[0]) };
}
