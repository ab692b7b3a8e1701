import { codeLengths, codes, endOfString } from './huffman-code.js';

/**
 * One step for each state and next byte. A state is an inner node of the code's tree: the bits read since the last whole
 * symbol. A byte completes at most two symbols, the shortest code having five bits. An entry is
 * `symbols << 24 | second << 16 | first << 8 | next state`, or `broken` where the byte completes EOS.
 */
const steps = new Int32Array(256 * 256);
const broken = -1;

/** States in which a string may end: at most seven bits read since the last symbol, all ones (RFC 7541 5.2). */
const mayEnd = new Uint8Array(256);

buildSteps();

/**
 * Decodes the string [start, end) of `from` into `to`, which has room for `decodedBound(end - start)` bytes. Returns how many
 * were written, or -1 where the string contains EOS or its padding is wrong (RFC 7541 5.2).
 */
export function decodeHuffman(from: Uint8Array, start: number, end: number, to: Uint8Array): number {
  let state = 0;
  let length = 0;
  for (let i = start; i < end; i += 1) {
    const step = steps[(state << 8) | (from[i] as number)] as number;
    if (step < 0) return -1;
    // Without a branch: what is written beyond the symbols of this step is written over by the next.
    to[length] = (step >>> 8) & 0xff;
    to[length + 1] = (step >>> 16) & 0xff;
    length += step >>> 24;
    state = step & 0xff;
  }
  return mayEnd[state] === 1 ? length : -1;
}

/** Room that `decodeHuffman` needs for so many bytes: no code is shorter than five bits, and two bytes of slack. */
export function decodedBound(bytes: number): number {
  return Math.floor((bytes * 8) / 5) + 2;
}

function buildSteps(): void {
  /** Two children a node: `~symbol`, or a node's number. 0 is the root, which is nobody's child. */
  const children = new Int32Array(2 * 256);
  let nodes = 1;
  mayEnd[0] = 1;
  for (let symbol = 0; symbol <= endOfString; symbol += 1) {
    const length = codeLengths[symbol] as number;
    const code = codes[symbol] as number;
    let node = 0;
    for (let depth = 1; depth < length; depth += 1) {
      const edge = 2 * node + ((code >>> (length - depth)) & 1);
      if (children[edge] === 0) {
        children[edge] = nodes;
        nodes += 1;
      }
      node = children[edge] as number;
      // EOS is thirty ones: what leads to it is what padding is made of.
      if (symbol === endOfString && depth <= 7) mayEnd[node] = 1;
    }
    children[2 * node + (code & 1)] = ~symbol;
  }
  for (let state = 0; state < nodes; state += 1)
    for (let byte = 0; byte < 256; byte += 1) steps[(state << 8) | byte] = stepOf(children, state, byte);
}

function stepOf(children: Int32Array, state: number, byte: number): number {
  let node = state;
  let symbols = 0;
  let count = 0;
  for (let bit = 7; bit >= 0; bit -= 1) {
    const child = children[2 * node + ((byte >>> bit) & 1)] as number;
    if (child >= 0) {
      node = child;
      continue;
    }
    if (~child === endOfString) return broken;
    symbols |= ~child << (8 + 8 * count);
    count += 1;
    node = 0;
  }
  return (count << 24) | symbols | node;
}
