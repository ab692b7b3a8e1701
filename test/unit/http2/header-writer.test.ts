import { expect, it } from 'vitest';
import { frameHeaderLength } from '../../../src/http2/frame/kinds.js';
import { HeaderWriter } from '../../../src/http2/header-writer.js';
import { createHpackDecoder } from '../../../src/http2/hpack/decoder.js';
import { Outbox } from '../../../src/http2/outbox.js';
import { PeerSettings } from '../../../src/http2/settings.js';

const fields = [{ name: 'x-a', value: 'b', neverIndexed: false }];

/** The blocks that are written after these table sizes of the peer. */
function blocksAfter(sizes: readonly number[]): Buffer[] {
  const outbox = new Outbox();
  const writer = new HeaderWriter(outbox, 4096, new PeerSettings());
  for (const size of sizes) writer.peerTableSize(size);
  return [1, 3].map((id) => {
    writer.write(id, fields, true);
    return Buffer.concat(outbox.take()).subarray(frameHeaderLength);
  });
}

it('of table sizes that come before the first block, the smallest and the last are signalled with it (RFC 7541 4.2)', () => {
  const [first, second] = blocksAfter([2000, 100, 0, 4096, 1000]);
  // Sizes 0 and 1000; once.
  expect(first?.subarray(0, 4)).toEqual(Buffer.of(0x20, 0x3f, 0xc9, 0x07));
  expect(second).toEqual(Buffer.of(0xbe));
});

it('without any before the first block nothing is signalled', () => {
  const [first, second] = blocksAfter([]);
  expect(first?.[0]).toBe(0x40);
  expect(second).toEqual(Buffer.of(0xbe));
});

it('a table of no bytes is kept to from the first block on', () => {
  const [first, second] = blocksAfter([0]);
  expect(first?.[0]).toBe(0x20);
  const decoder = createHpackDecoder(0);
  for (const block of [first, second])
    expect(decoder.decode(block ?? Buffer.of(0), 0, block?.length ?? 1, 1000).ok).toBe(true);
  expect(decoder.tableSize).toBe(0);
});
