import { expect, it } from 'vitest';
import { behave } from '../../support/raw-peer.js';
import { path, useScene, verdict } from '../../support/scene.js';

const scene = useScene();
const [, service, method] = path.split('/');

it.each([
  ['is cut', behave.kill],
  ['ends', ({ connection }: Parameters<typeof behave.kill>[0]) => connection.end()],
] as const)(
  'CON-02: an attempt that follows in the moment in which its connection %s goes to the next one',
  async (_how, lose) => {
    // A hedge whose sibling failed is sent at once (A6, Hedging Policy).
    const hedgingPolicy = { maxAttempts: 2, hedgingDelay: '30s', nonFatalStatusCodes: ['UNAVAILABLE'] };
    const { backend, call, proxy } = await scene.stage({
      serviceConfig: { methodConfig: [{ name: [{ service, method }], hedgingPolicy }] },
      onStream: behave.ok('warm'),
    });
    expect((await call()).status).toBe(0);
    backend.script([lose, behave.ok('fine')]);
    expect(verdict(await call())).toMatchObject({ status: 0 });
    // One that waited for what is lost would be told so, and be followed by a transparent one.
    expect((await proxy.call(1)).attempts.map(({ cause }) => cause)).toEqual(['first', 'hedge']);
    expect(backend.connections).toHaveLength(2);
  },
);
