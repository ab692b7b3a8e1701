import { describe, expect, it } from 'vitest';
import { Lines } from '../../../src/runtime/lines.js';

const told = (bytes: Buffer | null): string | null => bytes?.toString() ?? null;

describe('whole lines of a process', () => {
  it('passes on what is whole, and keeps the rest until its end has come', () => {
    const lines = new Lines();
    expect(told(lines.push(Buffer.from('one\ntwo\nth')))).toBe('one\ntwo\n');
    expect(lines.push(Buffer.from('re'))).toBeNull();
    expect(told(lines.push(Buffer.from('e\n')))).toBe('three\n');
    expect(lines.end()).toBeNull();
  });

  it('keeps a copy of its own of what is not whole', () => {
    const lines = new Lines();
    const chunk = Buffer.from('a\nb');
    lines.push(chunk);
    chunk.fill(0x78);
    expect(told(lines.push(Buffer.from('\n')))).toBe('b\n');
  });

  it('ends the last line of a process that was cut off', () => {
    const lines = new Lines();
    lines.push(Buffer.from('whole\nhal'));
    expect(told(lines.end())).toBe('hal\n');
    expect(lines.end()).toBeNull();
  });

  it('holds no more than a mebibyte for a line', () => {
    const lines = new Lines();
    const part = Buffer.alloc(600_000, 0x61);
    expect(lines.push(part)).toBeNull();
    expect(lines.push(part)?.length).toBe(1_200_000);
  });
});
