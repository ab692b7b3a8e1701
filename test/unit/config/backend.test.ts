import { describe, expect, it } from 'vitest';
import { parseBackend } from '../../../src/config/backend.js';

const plain = { weight: 1, priority: 0, maxCalls: null };

describe('parseBackend', () => {
  it.each([
    ['10.0.0.7:50051', { kind: 'tcp', host: '10.0.0.7', port: 50051 }],
    ['ipv4:10.0.0.7:50051', { kind: 'tcp', host: '10.0.0.7', port: 50051 }],
    ['IPv4:10.0.0.7:50051', { kind: 'tcp', host: '10.0.0.7', port: 50051 }],
    ['ipv6:[2001:db8::7]:1', { kind: 'tcp', host: '2001:db8::7', port: 1 }],
    ['[::1]:1', { kind: 'tcp', host: '::1', port: 1 }],
    ['dns:10.0.0.7:1', { kind: 'tcp', host: '10.0.0.7', port: 1 }],
    ['dns:///[::1]:1', { kind: 'tcp', host: '::1', port: 1 }],
    ['dns://10.0.0.53/10.0.0.7:1', { kind: 'tcp', host: '10.0.0.7', port: 1 }],
    ['unix:/run/b.sock', { kind: 'unix', path: '/run/b.sock' }],
    ['unix:run/b.sock', { kind: 'unix', path: 'run/b.sock' }],
    ['unix:///run/b.sock', { kind: 'unix', path: '/run/b.sock' }],
  ])('%s is one backend', (target, endpoint) => {
    const where = { kind: 'one', endpoint };
    expect(parseBackend(`b1=${target}`)).toEqual({ ok: true, value: { name: 'b1', target, where, ...plain } });
  });

  it.each([
    ['localhost:50052', 'localhost', null],
    ['orders.internal:50052', 'orders.internal', null],
    ['dns:orders:50052', 'orders', null],
    ['DNS:///orders.internal.:50052', 'orders.internal.', null],
    ['dns://10.0.0.53/orders:50052', 'orders', '10.0.0.53:53'],
    ['dns://127.0.0.1:5353/orders:50052', 'orders', '127.0.0.1:5353'],
    ['dns://[2001:db8::1]/orders:50052', 'orders', '[2001:db8::1]:53'],
    ['dns://[2001:db8::1]:5353/orders:50052', 'orders', '[2001:db8::1]:5353'],
    ['xds:50052', 'xds', null],
  ])('%s is a name to resolve', (target, host, authority) => {
    const where = { kind: 'name', host, port: 50052, authority };
    expect(parseBackend(`b1=${target}`)).toEqual({ ok: true, value: { name: 'b1', target, where, ...plain } });
  });

  it.each([
    ['ipv4:10.0.0.7:1,10.0.0.8:2', ['10.0.0.7', '10.0.0.8'], plain],
    ['ipv6:[::7]:1,[::8]:2', ['::7', '::8'], plain],
    ['ipv4:10.0.0.7:1,10.0.0.8:2,weight=3', ['10.0.0.7', '10.0.0.8'], { ...plain, weight: 3 }],
  ])('%s is a group of listed members', (text, [first, second], options) => {
    const endpoints = [
      { kind: 'tcp', host: first, port: 1 },
      { kind: 'tcp', host: second, port: 2 },
    ];
    const target = text.replace(',weight=3', '');
    expect(parseBackend(`b1=${text}`)).toEqual({
      ok: true,
      value: { name: 'b1', target, where: { kind: 'list', endpoints }, ...options },
    });
  });

  it.each([
    ['weight=1', { ...plain, weight: 1 }],
    ['weight=1000,priority=9,max-calls=1000000', { weight: 1000, priority: 9, maxCalls: 1_000_000 }],
    ['max-calls=1,priority=0', { ...plain, maxCalls: 1 }],
  ])('the options %s', (text, options) => {
    expect(parseBackend(`b1=unix:/x,${text}`)).toMatchObject({ ok: true, value: { target: 'unix:/x', ...options } });
    expect(parseBackend(`b1=orders:1,${text}`)).toMatchObject({ ok: true, value: { target: 'orders:1', ...options } });
  });

  it.each(['a', '0.x-y_z', 'a'.repeat(256)])('%s is a name', (name) => {
    expect(parseBackend(`${name}=10.0.0.7:1`)).toMatchObject({ ok: true, value: { name } });
  });

  it('the name of a group leaves room for the address of a member', () => {
    expect(parseBackend(`${'a'.repeat(200)}=orders:1`)).toMatchObject({ ok: true });
    for (const target of ['orders:1', 'ipv4:10.0.0.7:1,10.0.0.8:1']) {
      const parsed = parseBackend(`${'a'.repeat(201)}=${target}`);
      expect(parsed).toEqual({ ok: false, problem: expect.stringContaining('a group is at most 200 bytes') });
    }
  });

  it.each([
    ['10.0.0.7:1', 'no name'],
    ['=10.0.0.7:1', 'not a backend name'],
    ['B1=10.0.0.7:1', 'not a backend name'],
    ['-a=10.0.0.7:1', 'not a backend name'],
    ['a/b=10.0.0.7:1', 'not a backend name'],
    [`${'a'.repeat(257)}=10.0.0.7:1`, 'not a backend name'],
    ['a=', 'no target'],
    ['a=,weight=1', 'no target'],
    ['a=10.0.0.7', 'has no port'],
    ['a=orders', 'has no port'],
    ['a=dns:///orders', 'has no port'],
    ['a=dns:50052', '"dns:50052" is not a target; write HOST:PORT'],
    ['a=dns:', 'is not a target'],
    ['a=dns://', 'has no name; write dns:///HOST:PORT'],
    ['a=dns://orders:1', 'has no name; write dns:///HOST:PORT'],
    ['a=dns://10.0.0.53/', 'is not a target'],
    ['a=dns://ns.internal/orders:1', 'the DNS server "ns.internal" is not an IP address'],
    ['a=dns://10.0.0.53:0/orders:1', 'from 1 to 65535'],
    ['a=dns:///two/parts:1', '"two/parts" is neither an IP address nor a host name'],
    ['a=10.0.0.7:0', 'from 1 to 65535'],
    ['a=10.0.0.7:x', 'from 1 to 65535'],
    ['a=orders:0', 'from 1 to 65535'],
    ['a=a b:1', '"a b" is neither an IP address nor a host name'],
    ['a=10.0.0.256:1', '"10.0.0.256" is neither'],
    ['a=:1', '"" is neither'],
    ['a=http://10.0.0.7:1', 'is a URL'],
    ['a=xds:///orders', 'xds: is not supported; write HOST:PORT'],
    ['a=unix-abstract:x', 'unix-abstract: is not supported'],
    ['a=passthrough:///orders:1', 'passthrough: is not supported'],
    ['a=ipv4:[::1]:1', 'is not an IPv4 address'],
    ['a=ipv6:10.0.0.7:1', 'is not an IPv6 address'],
    ['a=ipv4:host:1', 'is not an IP address'],
    ['a=ipv4:10.0.0.7', 'has no port'],
    ['a=ipv4:10.0.0.7:1,', '"ipv4:" is not a target'],
    ['a=ipv4:10.0.0.7:1,10.0.0.8', 'has no port'],
    ['a=ipv4:10.0.0.7:1,10.0.0.7:1', '"10.0.0.7:1" is given twice'],
    ['a=ipv6:[::1]:1,[0:0::1]:1', '"[0:0::1]:1" is given twice'],
    ['a=ipv4:10.0.0.7:1,weight=1,10.0.0.8:1', 'one address a backend'],
    [`a=ipv4:${Array.from({ length: 101 }, (_, at) => `10.0.0.${at}:1`).join(',')}`, 'more than 100 addresses'],
    ['a=unix:', 'no path'],
    ['a=10.0.0.7:1,weight=0', 'weight must be an integer from 1 to 1000; got "0"'],
    ['a=10.0.0.7:1,weight=1001', 'weight must be an integer from 1 to 1000'],
    ['a=10.0.0.7:1,weight=1.5', 'weight must be an integer'],
    ['a=10.0.0.7:1,weight=', 'weight must be an integer'],
    ['a=10.0.0.7:1,priority=10', 'priority must be an integer from 0 to 9'],
    ['a=10.0.0.7:1,max-calls=0', 'max-calls must be an integer from 1 to 1000000'],
    ['a=10.0.0.7:1,weight=1,weight=2', 'weight is given twice'],
    ['a=10.0.0.7:1,wieght=1', 'did you mean weight?'],
    ['a=10.0.0.7:1,maxCalls=1', 'did you mean max-calls?'],
    ['a=10.0.0.7:1,', 'unknown option ""; known are'],
    ['a=10.0.0.7:1,10.0.0.8:1', 'list them as ipv4:A:PORT,B:PORT'],
    ['a=10.0.0.7,weight=x', 'has no port'],
  ])('%s is refused', (text, problem) => {
    expect(parseBackend(text)).toEqual({ ok: false, problem: expect.stringContaining(problem) });
  });
});
