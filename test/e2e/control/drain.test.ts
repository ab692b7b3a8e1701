import { afterEach, describe, expect, it } from 'vitest';
import { hedgerow, type Program } from '../../support/program.js';
import { behave, connectRawClient, startRawBackend } from '../../support/raw-peer.js';
import { RegistryClient, type Watch } from './rig.js';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

interface Scene {
  readonly program: Program;
  readonly health: RegistryClient;
  readonly watch: Watch;
  /** Ends the call that holds the drain up. */
  release(): void;
}

/** The built program with a call under way, and a client that watches its health. */
async function start(): Promise<Scene> {
  const backend = await startRawBackend({ onStream: behave.silent });
  ends.push(() => backend.close());
  const program = await hedgerow([
    ...['serve', '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--control', '127.0.0.1:0'],
    ...['--backend', `b1=${backend.address}`],
  ]);
  await program.line(({ event }) => event === 'connected');
  const client = await connectRawClient(await program.port());
  ends.push(() => client.kill());
  client.call('/a.B/C', { messages: ['x'] });
  const attempt = await backend.waitForStream(1);
  const health = new RegistryClient(String((await program.line('ready'))['control']), {});
  ends.push(() => health.close());
  const watch = health.watch('');
  expect(await watch.when(1)).toEqual(['SERVING']);
  return { program, health, watch, release: () => attempt.trailersOnly(0) };
}

describe('grpc.health.v1 of a program that drains', () => {
  it('CTL-11: SIGTERM: NOT_SERVING to all who watch and ask, from the beginning of the drain to its end', async () => {
    const { program, health, watch, release } = await start();
    program.signal('SIGTERM');
    expect(await watch.when(2)).toEqual(['SERVING', 'NOT_SERVING']);
    expect(await health.check('')).toBe('NOT_SERVING');
    expect(await health.check('hedgerow.registry.v1.Registry')).toBe('NOT_SERVING');
    release();
    expect(await program.exited()).toBe(0);
    expect(watch.statuses).toEqual(['SERVING', 'NOT_SERVING']);
  });

  it('CTL-11: POST /drain: the same, and it stays so when the drain is over', async () => {
    const { program, health, watch, release } = await start();
    const answer = await fetch(`http://${await program.admin()}/drain`, { method: 'POST' });
    expect(answer.status).toBe(202);
    expect(await watch.when(2)).toEqual(['SERVING', 'NOT_SERVING']);
    expect(await health.check('')).toBe('NOT_SERVING');
    release();
    await program.line(({ msg }) => String(msg).startsWith('drained'));
    expect(await health.check('')).toBe('NOT_SERVING');
    const late = health.watch('');
    expect(await late.when(1)).toEqual(['NOT_SERVING']);
    expect(watch.statuses).toEqual(['SERVING', 'NOT_SERVING']);
  });
});
