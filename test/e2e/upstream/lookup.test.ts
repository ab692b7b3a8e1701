import { describe, expect, it } from 'vitest';
import { createLookup } from '../../../src/upstream/lookup.js';
import { startDns } from '../../support/dns-server.js';

describe('a name with a DNS server', () => {
  it('FND-03: is asked for there, both families, and nothing but addresses', async () => {
    const dns = await startDns();
    dns.set('orders.test', ['10.0.0.1', '10.0.0.2', '2001:db8::7']);
    const lookup = createLookup({ host: 'orders.test', authority: dns.authority });
    expect(await lookup.ask()).toEqual({ addresses: ['10.0.0.1', '10.0.0.2', '2001:db8::7'], unsure: null });
    expect(dns.asked.map(({ type }) => type).sort()).toEqual(['A', 'AAAA']);
  });

  it('of one family alone has the others of none', async () => {
    const dns = await startDns();
    dns.set('orders.test', ['10.0.0.1'], 'A');
    const lookup = createLookup({ host: 'orders.test', authority: dns.authority });
    expect(await lookup.ask()).toEqual({ addresses: ['10.0.0.1'], unsure: null });
  });

  it('FND-10: a family that could not be asked for is told', async () => {
    const dns = await startDns();
    dns.set('orders.test', ['10.0.0.1'], 'A');
    dns.set('orders.test', 'SERVFAIL', 'AAAA');
    const lookup = createLookup({ host: 'orders.test', authority: dns.authority });
    expect(await lookup.ask()).toEqual({
      addresses: ['10.0.0.1'],
      unsure: { version: 6, problem: 'the DNS server failed (SERVFAIL)' },
    });
  });

  it.each([
    ['NXDOMAIN', 'no such name'],
    ['SERVFAIL', 'the DNS server failed (SERVFAIL)'],
    ['REFUSED', 'the DNS server refuses to answer (REFUSED)'],
    [[], 'the name has no addresses'],
  ] as const)('FND-08: %s is told in words', async (reply, problem) => {
    const dns = await startDns();
    dns.set('orders.test', reply);
    await expect(createLookup({ host: 'orders.test', authority: dns.authority }).ask()).rejects.toThrow(problem);
  });

  it('what is under way when it is stopped ends', async () => {
    const dns = await startDns();
    dns.set('orders.test', 'silence');
    const lookup = createLookup({ host: 'orders.test', authority: dns.authority });
    const answer = lookup.ask();
    await dns.wasAsked('orders.test', 1);
    lookup.stop();
    await expect(answer).rejects.toThrow();
  });
});

describe("a name of the system's", () => {
  it('FND-02: is resolved as the system does, hosts file and all', async () => {
    const { addresses, unsure } = await createLookup({ host: 'localhost', authority: null }).ask();
    expect(addresses.filter((address) => address !== '::1')).toEqual(['127.0.0.1']);
    expect(unsure).toBeNull();
  });

  it('FND-08: that does not exist says so', async () => {
    // RFC 6761 6.4: no resolver answers for names below invalid.
    await expect(createLookup({ host: 'orders.invalid', authority: null }).ask()).rejects.toThrow(
      /^(no such name|the system cannot resolve names at the moment)$/,
    );
  });
});
