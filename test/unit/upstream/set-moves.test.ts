import { describe, expect, it } from 'vitest';
import { backendId } from '../../../src/grpc/backend-id.js';
import { moved, Pool, spec } from './set-rig.js';

describe('a backend at another address', () => {
  it('POOL-07, POOL-10: a drain by hand holds at another address, until it is taken back', () => {
    const set = new Pool([spec('a'), spec('b')]);
    const caller = set.call('b');
    set.pool.drain(backendId('b'));
    set.pool.apply([spec('a'), moved('b')]);
    expect(set.backend('b')).toMatchObject({ phase: 'left', endpoint: { port: 7 } });
    expect(set.links.filter(({ port }) => port === 7)).toEqual([]);
    set.pool.apply([spec('a'), moved('b', 8)]);
    expect(set.backend('b').phase).toBe('left');
    expect(set.pool.resume(backendId('b'))).toBe(true);
    expect(set.backend('b').phase).toBe('serving');
    expect(set.links.at(-1)?.port).toBe(8);
    expect(caller.heard).toEqual(['opened']);
    // It is over: the next address is used.
    set.pool.apply([spec('a'), moved('b', 9)]);
    expect(set.backend('b').phase).toBe('serving');
  });

  it('POOL-07, POOL-10: a drain by hand ends with a removal, though its calls go on', () => {
    const set = new Pool([spec('a'), spec('b')]);
    set.call('b');
    set.pool.drain(backendId('b'));
    set.pool.apply([spec('a')]);
    set.pool.apply([spec('a'), moved('b')]);
    expect(set.backend('b').phase).toBe('serving');
    set.call('a');
    set.pool.drain(backendId('a'));
    set.pool.apply([]);
    set.pool.apply([spec('a')]);
    set.pool.apply([moved('a')]);
    expect(set.backend('a').phase).toBe('serving');
  });

  it('POOL-07, POOL-11: calls at an address that it had before count, and are lost with it, but not with the newest', () => {
    const set = new Pool([spec('b')]);
    const first = set.call('b');
    set.pool.apply([moved('b')]);
    set.links.at(-1)?.link.settings();
    const second = set.call('b');
    expect([set.backend('b').inFlight, set.pool.inFlightOf(backendId('b'))]).toEqual([1, 2]);
    set.pool.lose(backendId('b'), 'its registration was lost', 'newest');
    expect([first.heard, second.heard]).toEqual([['opened'], ['opened', 'end: lost']]);
    expect(set.pool.inFlightOf(backendId('b'))).toBe(1);
    set.pool.lose(backendId('b'), 'declared lost');
    expect(first.heard).toEqual(['opened', 'end: lost']);
    expect(set.pool.inFlightOf(backendId('b'))).toBe(0);
    expect(set.pool.inFlightOf(backendId('z'))).toBe(0);
  });

  it('POOL-06: of more names that left than are remembered, those that left last come back as new generations', () => {
    const set = new Pool([]);
    for (let n = 0; n < 10_000; n += 1) {
      set.pool.apply([{ ...spec('x'), id: backendId(`x${n}`) }]);
      const link = set.links.pop()?.link;
      link?.settings();
      set.pool.apply([]);
      link?.close('closed');
    }
    set.pool.apply([spec('b')]);
    set.link('b').settings();
    set.pool.apply([]);
    set.link('b').close('closed');
    set.pool.apply([spec('b')]);
    expect(set.backend('b').generation).toBe(1);
  });
});
