import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { createHpackDecoder } from '../../../../src/http2/hpack/decoder.js';
import { createHpackEncoder } from '../../../../src/http2/hpack/encoder.js';
import type { HeaderField } from '../../../../src/http2/types.js';
import { decode, decoded, encoded, field } from './codec.js';

/**
 * Stories: the header blocks of one connection, with the lists that they stand for, in the format of http2jp's
 * hpack-test-case. Our own are in ./stories; more are read from the folders in HPACK_STORIES.
 */
interface Story {
  readonly cases: readonly Case[];
}

interface Case {
  readonly wire: string;
  readonly headers: readonly Readonly<Record<string, string>>[];
  /** The size that the decoder advertises from this block on (bytes). */
  readonly header_table_size?: number;
}

function storiesIn(dir: string): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.json'))
    .sort()
    .map((file) => path.join(dir, file));
}

function read(file: string): Story {
  return JSON.parse(readFileSync(file, 'utf8')) as Story;
}

function listOf({ headers }: Case): HeaderField[] {
  return headers.flatMap((line) => Object.entries(line).map(([name, value]) => field(name, value)));
}

/** What a list says, without the marks: stories do not carry them. */
function unmarked(list: readonly HeaderField[]): HeaderField[] {
  return list.map(({ name, value }) => field(name, value));
}

/** Every block gives its list. */
function decodesTo(story: Story): void {
  const decoder = createHpackDecoder(4096);
  for (const one of story.cases) {
    if (one.header_table_size !== undefined) decoder.setMaxTableSize(one.header_table_size);
    expect(unmarked(decoded(decoder, one.wire))).toEqual(listOf(one));
  }
}

/** What the block says, marks included, survives our encoder and a second decoder, with the same sizes in force. */
function goesRound(story: Story): void {
  const first = createHpackDecoder(4096);
  const encoder = createHpackEncoder(4096);
  const second = createHpackDecoder(4096);
  for (const one of story.cases) {
    if (one.header_table_size !== undefined) {
      first.setMaxTableSize(one.header_table_size);
      encoder.setPeerTableSize(one.header_table_size);
      second.setMaxTableSize(one.header_table_size);
    }
    const list = decoded(first, one.wire);
    expect(decoded(second, encoded(encoder, list))).toEqual(list);
    expect(second.tableSize).toBe(encoder.tableSize);
  }
}

const own = storiesIn(path.join(import.meta.dirname, 'stories'));

test('there are stories of our own', () => {
  expect(own.length).toBeGreaterThanOrEqual(4);
});

describe.each(own.map((file) => [path.basename(file), read(file)] as const))('%s', (_name, story) => {
  test('is decoded', () => decodesTo(story));
  test('goes round through our encoder', () => goesRound(story));
});

test('nghttp2-grpc-requests.json: authorization, and nothing else, comes never-indexed', () => {
  const decoder = createHpackDecoder(4096);
  for (const { wire } of read(own.find((file) => file.endsWith('grpc-requests.json')) ?? '').cases) {
    const marked = decoded(decoder, wire).filter(({ neverIndexed }) => neverIndexed);
    expect(marked.map(({ name }) => name)).toEqual(['authorization']);
  }
});

test('nghttp2-table-sizes.json: without the sizes it is out of step, which is told', () => {
  const story = read(own.find((file) => file.endsWith('table-sizes.json')) ?? '');
  const decoder = createHpackDecoder(256);
  expect(story.cases.map(({ wire }) => decode(decoder, wire).ok)).toContain(false);
});

const elsewhere = process.env['HPACK_STORIES'];

describe.skipIf(elsewhere === undefined)('stories of HPACK_STORIES (skipped where it names no folder)', () => {
  const files = elsewhere === undefined || !existsSync(elsewhere) ? [] : storiesIn(elsewhere);
  test('the folder has stories', () => {
    expect(files.length).toBeGreaterThan(0);
  });
  test.each(files.map((file) => [path.relative(elsewhere ?? '', file)]))('%s', (name) => {
    const story = read(path.join(elsewhere ?? '', name));
    decodesTo(story);
    goesRound(story);
  });
});
