import { describe, expect, it } from 'vitest';
import { authorityFor } from '../../../src/proxy/authority.js';

const tcp = { kind: 'tcp', host: '127.0.0.1', port: 50_061 } as const;

describe('authorityFor', () => {
  it("is the client's own, empty where it has none", () => {
    expect(authorityFor({ kind: 'client' }, 'orders.internal', tcp)).toBe('orders.internal');
    expect(authorityFor({ kind: 'client' }, '', tcp)).toBe('');
  });

  it("is the backend's address as an authority, never the target's spelling", () => {
    expect(authorityFor({ kind: 'target' }, 'c', tcp)).toBe('127.0.0.1:50061');
    expect(authorityFor({ kind: 'target' }, 'c', { kind: 'tcp', host: '::1', port: 1 })).toBe('[::1]:1');
    expect(authorityFor({ kind: 'target' }, 'c', { kind: 'unix', path: '/tmp/x.sock' })).toBe('localhost');
  });

  it('is what was given', () => {
    expect(authorityFor({ kind: 'fixed', value: 'a.b:1' }, 'c', tcp)).toBe('a.b:1');
  });
});
