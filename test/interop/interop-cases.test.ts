import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type Implementation,
  type InteropClient,
  type InteropServer,
  implementations,
  startClient,
  startServer,
} from './implementations.js';
import { interopCases, interopTable, notApplicable, pairKey } from './interop-cases.js';
import { MarkedBlock, writing } from './marked-block.js';
import { type ProxyProcess, startProxyProcess } from './proxy-process.js';

const block = new MarkedBlock('the interop cases');
const servers: InteropServer[] = [];
const clients = new Map<Implementation, InteropClient>();
const proxies = new Map<Implementation, ProxyProcess>();
const passed = new Set<string>();
const ran: string[] = [];

beforeAll(async () => {
  for (const name of implementations) {
    const server = await startServer(name);
    servers.push(server);
    proxies.set(name, await startProxyProcess(server.port));
    clients.set(name, startClient(name));
  }
});

afterAll(async () => {
  for (const { stop } of [...clients.values(), ...proxies.values(), ...servers]) await stop();
});

for (const client of implementations)
  for (const server of implementations)
    describe(`a ${client} client before a ${server} server`, () => {
      for (const name of interopCases) {
        if (notApplicable(name, client, server) !== null) continue;
        it(`passes ${name}`, async () => {
          ran.push(pairKey(name, client, server));
          const runner = clients.get(client);
          const proxy = proxies.get(server);
          if (runner === undefined || proxy === undefined) throw new Error('it has not been started');
          await runner.run(name, proxy.port);
          passed.add(pairKey(name, client, server));
        });
      }
    });

describe('the table of docs/interop.md', () => {
  it('is what this run saw: INTEROP_WRITE=1 npm run test:interop writes it', () => {
    const table = interopTable(new Set(ran.filter((key) => !passed.has(key))));
    console.log(table);
    if (writing) block.write(table);
    expect(block.read()).toBe(table);
  });
});
