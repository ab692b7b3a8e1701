import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FlakyBackend, startFlakyBackend } from './flaky-backends.js';
import { type Implementation, implementations } from './implementations.js';
import { pairKey } from './interop-cases.js';
import { MarkedBlock, writing } from './marked-block.js';
import { type ProxyProcess, startProxyProcess } from './proxy-process.js';
import { retryChecks, type Scene, serviceConfig } from './retry-checks.js';
import { type RetryClient, RetryClients } from './retry-clients.js';

const block = new MarkedBlock('the retries');
const checks = Object.entries(retryChecks);
const passed = new Set<string>();
const backends = new Map<Implementation, FlakyBackend>();
const channels = new Map<string, RetryClient>();
const proxies: ProxyProcess[] = [];
let clients: RetryClients;

beforeAll(async () => {
  clients = new RetryClients();
  for (const server of implementations) {
    const backend = await startFlakyBackend(server);
    backends.set(server, backend);
    const proxy = await startProxyProcess(backend.port, serviceConfig);
    proxies.push(proxy);
    for (const client of implementations)
      channels.set(pairKey('', client, server), await clients.connect(client, proxy.port));
  }
});

afterAll(async () => {
  for (const channel of channels.values()) await channel.close();
  await clients.close();
  for (const { stop } of [...proxies, ...backends.values()]) await stop();
});

function scene(client: Implementation, server: Implementation, callId: string): Scene {
  const channel = channels.get(pairKey('', client, server));
  const backend = backends.get(server);
  if (channel === undefined || backend === undefined) throw new Error('it has not been started');
  return { client: channel, backend, callId };
}

for (const client of implementations)
  for (const server of implementations)
    describe(`a ${client} client before a flaky ${server} backend`, () => {
      for (const [index, [name, check]] of checks.entries())
        it(`${name}`, async () => {
          await check(scene(client, server, `${client}-${server}-${index}`));
          passed.add(pairKey(name, client, server));
        });
    });

describe('the table of docs/interop.md', () => {
  it('is what this run saw: INTEROP_WRITE=1 npm run test:interop writes it', async () => {
    const table = tableOf(await clients.versions());
    console.log(table);
    if (writing) block.write(table);
    expect(block.read()).toBe(table);
  });
});

/** A row a check, a column a client: with how many of the flaky backends it held. */
function tableOf(versions: ReadonlyMap<Implementation, string>): string {
  const rows = checks.map(([name]) => {
    const cells = implementations.map((client) => {
      const good = implementations.filter((server) => passed.has(pairKey(name, client, server)));
      return `${good.length} of ${implementations.length}`;
    });
    return `| ${name} | ${cells.join(' | ')} |`;
  });
  const heads = implementations.map((client) => `${client} ${versions.get(client) ?? ''}`.trim());
  return [`| what holds | ${heads.join(' | ')} |`, `|---|${heads.map(() => '---|').join('')}`, ...rows].join('\n');
}
