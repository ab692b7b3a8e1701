import net from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { defaultHttp2Settings } from '../../../src/http2/types.js';
import { createLookup } from '../../../src/upstream/lookup.js';
import { createUpstreamPool } from '../../../src/upstream/pool.js';
import { createBackendSources } from '../../../src/upstream/sources.js';
import { Happenings } from '../../support/alive.js';
import { type DnsServer, startDns } from '../../support/dns-server.js';
import { clock, NodeAlarms, turn } from '../../support/node-ports.js';
import { type RawBackend, startRawBackend } from '../../support/raw-backend.js';
import { createVirtualTime } from '../../support/virtual-time.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A backend on 127.0.0.1, and ways to it from other addresses of loopback: so many machines with one port. */
async function machines(count: number): Promise<RawBackend> {
  const backend = await startRawBackend();
  cleanups.push(() => backend.close());
  for (let i = 2; i <= count; i += 1) {
    const server = net.createServer((socket) => {
      const onward = net.connect(backend.port, '127.0.0.1');
      socket.pipe(onward).pipe(socket);
      for (const [one, other] of [
        [socket, onward],
        [onward, socket],
      ] as const) {
        one.on('error', () => {});
        one.on('close', () => other.destroy());
      }
    });
    await new Promise<void>((resolve) => server.listen(backend.port, `127.0.0.${i}`, resolve));
    cleanups.push(() => server.close());
  }
  return backend;
}

/** One group in a pool, over real sockets; the time of its look-ups moves by hand. */
class Group {
  readonly time = createVirtualTime();
  readonly happenings = new Happenings();
  readonly lines: string[] = [];
  readonly events: string[] = [];
  readonly pool: ReturnType<typeof createUpstreamPool>;

  constructor(dns: DnsServer, port: number) {
    const where = { kind: 'name', host: 'orders.test', port, authority: dns.authority } as const;
    const entry = { name: 'orders', target: `dns://${dns.authority}/orders.test:${port}`, where };
    const sources = createBackendSources(
      {
        sources: [{ name: '--backend', entries: [{ ...entry, weight: 1, priority: 0, maxCalls: null }] }],
        dnsRefresh: 30_000,
      },
      { ...this.time, random: { next: () => 0.5 }, lookup: createLookup, own: () => null },
      {
        tell: (_level, _fields, message) => {
          this.lines.push(message);
          this.happenings.changed();
        },
      },
    );
    this.pool = createUpstreamPool({
      backends: sources.specs(),
      connectTimeout: 2000,
      connectBackoffMax: 5000,
      backendConnections: 4,
      queueLimit: 1000,
      drainTimeout: 5000,
      settings: defaultHttp2Settings,
      tls: null,
      clock,
      alarms: new NodeAlarms(),
      turn,
      random: { next: () => 0.5 },
      onStateChange: ({ id, name, event }) => {
        this.events.push(`${event} ${id}`);
        if (event === 'lost' || event === 'connect_failed') sources.refresh(name);
        // A backend is out of the pool once its last connection has been told closed.
        setImmediate(() => this.happenings.changed());
      },
    });
    cleanups.push(() => {
      sources.stop();
      return this.pool.stop(0);
    });
    sources.onChange((backends) => this.pool.apply(backends));
    this.pool.start();
    sources.start();
  }

  /** Resolves when these members, and no others, are connected. */
  async are(...hosts: string[]): Promise<void> {
    await this.happenings.until(`the members ${hosts.join(', ')}; the log: ${this.lines.join(' | ')}`, () => {
      const ready = this.pool.backends.flatMap(({ endpoint, link }) =>
        endpoint.kind === 'tcp' && link === 'ready' ? [endpoint.host] : [],
      );
      const all = ready.length === hosts.length && this.pool.backends.length === hosts.length;
      return (all && hosts.every((host) => ready.includes(host))) || undefined;
    });
  }

  async said(line: string): Promise<void> {
    await this.happenings.until(`the line ${line}; the log: ${this.lines.join(' | ')}`, () => {
      return this.lines.some((each) => each.includes(line)) || undefined;
    });
  }
}

describe('a group behind a DNS name', () => {
  it('FND-04, FND-05: grows and shrinks with its name, at each refresh', async () => {
    const { port } = await machines(3);
    const dns = await startDns();
    dns.set('orders.test', ['127.0.0.1', '127.0.0.2']);
    const group = new Group(dns, port);
    await group.are('127.0.0.1', '127.0.0.2');
    expect(group.pool.backends.map(({ id, name }) => ({ id, name }))).toEqual([
      { id: `orders/127.0.0.1:${port}`, name: 'orders' },
      { id: `orders/127.0.0.2:${port}`, name: 'orders' },
    ]);
    dns.set('orders.test', ['127.0.0.3', '127.0.0.2', '127.0.0.1']);
    group.time.advance(30_000);
    await group.are('127.0.0.1', '127.0.0.2', '127.0.0.3');
    dns.set('orders.test', ['127.0.0.3']);
    group.time.advance(30_000);
    await group.are('127.0.0.3');
    expect(dns.count('orders.test')).toBe(3);
    expect(group.events.filter((event) => event.startsWith('lost'))).toEqual([]);
    expect(group.events.filter((event) => event.startsWith('connected'))).toHaveLength(3);
  });

  it.each([
    ['NXDOMAIN', 'NXDOMAIN'],
    ['SERVFAIL', 'SERVFAIL'],
    ['no address', []],
  ] as const)('FND-08, FND-09: an answer of %s takes nobody away', async (_words, reply) => {
    const { port } = await machines(2);
    const dns = await startDns();
    dns.set('orders.test', ['127.0.0.1', '127.0.0.2']);
    const group = new Group(dns, port);
    await group.are('127.0.0.1', '127.0.0.2');
    dns.set('orders.test', reply);
    group.time.advance(30_000);
    await group.said('its last known 2 members stay');
    await group.are('127.0.0.1', '127.0.0.2');
    dns.set('orders.test', ['127.0.0.1']);
    group.time.advance(1000);
    await group.said('is resolved again');
    await group.are('127.0.0.1');
  });

  it('FND-06: a lost connection has its name asked for again, without waiting for the refresh', async () => {
    const backend = await machines(2);
    const dns = await startDns();
    dns.set('orders.test', ['127.0.0.1']);
    const group = new Group(dns, backend.port);
    await group.are('127.0.0.1');
    group.time.advance(5000);
    expect(dns.count('orders.test')).toBe(1);
    dns.set('orders.test', ['127.0.0.2']);
    backend.kill();
    await group.are('127.0.0.2');
    expect(dns.count('orders.test')).toBe(2);
  });

  it('FND-06: so has a connect that failed', async () => {
    const { port } = await machines(1);
    const dns = await startDns();
    // Nobody listens there.
    dns.set('orders.test', ['127.0.0.9']);
    const group = new Group(dns, port);
    await group.happenings.until('a connect that fails', () => group.events.length > 0 || undefined);
    dns.set('orders.test', ['127.0.0.1']);
    group.time.advance(5000);
    await group.are('127.0.0.1');
  });
});
