import { describe, expect, it } from 'vitest';
import { authorityFor } from '../../../src/proxy/authority.js';
import { authorityOf } from '../../../src/upstream/endpoint.js';

const own = '127.0.0.1:50061';

describe('authorityFor', () => {
  it("is the client's own, empty where it has none", () => {
    expect(authorityFor({ kind: 'client' }, 'orders.internal', own)).toBe('orders.internal');
    expect(authorityFor({ kind: 'client' }, '', own)).toBe('');
  });

  it("is the backend's own", () => {
    expect(authorityFor({ kind: 'target' }, 'c', own)).toBe(own);
  });

  it('is what was given', () => {
    expect(authorityFor({ kind: 'fixed', value: 'a.b:1' }, 'c', own)).toBe('a.b:1');
  });
});

describe('authorityOf', () => {
  it("is the backend's address as an authority, never the target's spelling", () => {
    expect(authorityOf({ kind: 'tcp', host: '127.0.0.1', port: 50_061 })).toBe(own);
    expect(authorityOf({ kind: 'tcp', host: '::1', port: 1 })).toBe('[::1]:1');
    expect(authorityOf({ kind: 'unix', path: '/tmp/x.sock' })).toBe('localhost');
  });
});
