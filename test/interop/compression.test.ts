import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { behave } from '../support/behave.js';
import { frameMessage } from '../support/grpc-lines.js';
import { type RawBackend, startRawBackend } from '../support/raw-peer.js';
import { implementations } from './implementations.js';
import { type ProxyProcess, startProxyProcess } from './proxy-process.js';
import { serviceConfig } from './retry-checks.js';
import { RetryClients } from './retry-clients.js';

// The libraries do not show whether a message came compressed; frames do.

let clients: RetryClients;
let backend: RawBackend | null = null;
let proxy: ProxyProcess | null = null;

beforeAll(() => {
  clients = new RetryClients();
});

afterEach(async () => {
  await proxy?.stop();
  await backend?.close();
});

afterAll(() => clients.close());

describe.each(implementations)('compression of a %s client', (name) => {
  it('is the client’s own on every attempt, and the backend’s own in the answer', async () => {
    backend = await startRawBackend();
    backend.script([
      behave.failAfterRequest(14),
      async (stream) => {
        await stream.whenEnded();
        stream.sendHeaders([['grpc-encoding', 'gzip']]);
        await stream.sendData(frameMessage(gzipSync('answered'), true));
        stream.trailers(0);
      },
    ]);
    proxy = await startProxyProcess(backend.port, serviceConfig);
    const client = await clients.connect(name, proxy.port);
    const text = 'z'.repeat(100 * 1024);
    const told = await client.call({ method: 'Unary', messages: [text], metadata: [], gzip: true }).told;
    await client.close();
    expect({ status: told.status, answer: told.answer }).toEqual({ status: 0, answer: 'answered' });
    const [first, second] = backend.streams;
    expect(backend.streams).toHaveLength(2);
    expect(first?.header('grpc-encoding')).toBe('gzip');
    expect(first?.data[0]).toBe(1);
    expect(gunzipSync(first?.messages[0] ?? '').toString()).toBe(text);
    expect(second?.header('grpc-encoding')).toBe('gzip');
    expect(second?.data).toEqual(first?.data);
  });
});
