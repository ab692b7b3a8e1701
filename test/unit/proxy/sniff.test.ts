import { describe, expect, it } from 'vitest';
import { http1Answer, sniff } from '../../../src/proxy/sniff.js';

const bytes = (text: string) => Buffer.from(text, 'latin1');
const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

describe('sniff', () => {
  it('knows the HTTP/2 preface, whatever follows it', () => {
    expect(sniff(bytes(preface))).toBe('http2');
    expect(sniff(bytes(`${preface}\0\0\0`))).toBe('http2');
  });

  it('asks for more while every byte so far fits', () => {
    for (let length = 0; length < preface.length; length += 1)
      expect(sniff(bytes(preface.slice(0, length)))).toBe('more');
  });

  it('knows an HTTP/1.x request by its method, also one that is cut off or begins like the preface', () => {
    for (const text of [
      'GET / HTTP/1.1\r\n',
      'POST',
      'PRX / HTTP/1.1',
      'PUT /x',
      'PRI /x HTTP/1.1',
      'OPTIONS * HTTP/1.1',
      'GET http://x/ HTTP/1.1',
      'GET ',
      'CONNECT x:1 HTTP/1.1',
    ]) {
      expect(sniff(bytes(text)), text).toBe('http1');
    }
  });

  it('calls anything else other', () => {
    for (const text of ['\x16\x03\x01\x02', ' GET', 'get / HTTP/1.1', '\0', 'PRI * HTTP/2.1\r\n\x01']) {
      expect(sniff(bytes(text)) === 'http1' || sniff(bytes(text)) === 'other', text).toBe(true);
    }
    expect(sniff(bytes('\x16\x03\x01'))).toBe('other');
    expect(sniff(bytes('get / HTTP/1.1'))).toBe('other');
    expect(sniff(bytes('INVALID CONNECTION PREFACE'))).toBe('other');
  });
});

describe('http1Answer', () => {
  it('is one complete 505 answer whose length is right', () => {
    const [head, body] = http1Answer.split('\r\n\r\n');
    expect(head).toMatch(/^HTTP\/1\.1 505 /);
    expect(head).toContain(`content-length: ${Buffer.byteLength(body ?? '')}`);
    expect(head).toContain('connection: close');
  });
});
