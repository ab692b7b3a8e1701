import { afterEach, describe, expect, it } from 'vitest';
import { type Program, serve } from '../../support/program.js';
import { behave, connectRawClient, type RawBackend, type RawClient, startRawBackend } from '../../support/raw-peer.js';
import { type Registration, RegistryClient } from '../control/rig.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function backend(...[options]: Parameters<typeof startRawBackend>): Promise<RawBackend> {
  const started = await startRawBackend(options);
  cleanups.push(() => started.close());
  return started;
}

interface Running {
  readonly program: Program;
  readonly client: RawClient;
  register(name: string, port: number): Promise<Registration>;
}

async function start(flags: readonly string[] = []): Promise<Running> {
  const program = await serve(['--control', '127.0.0.1:0', '--access-log', 'off', ...flags]);
  const { control } = await program.line('ready');
  const client = await connectRawClient(await program.port());
  cleanups.push(() => client.kill());
  return {
    program,
    client,
    async register(name, port) {
      const registry = new RegistryClient(String(control), {});
      cleanups.push(() => registry.close());
      const registration = await registry.register({ name, target: `127.0.0.1:${port}` });
      await program.line(({ event, backend: id }) => event === 'connected' && id === name);
      return registration;
    },
  };
}

async function answer(client: RawClient): Promise<readonly (string | undefined)[]> {
  const made = await client.call('/a.B/C').done();
  return ['grpc-status', 'hedgerow-backend', 'hedgerow-stop-reason'].map((name) => made.trailer(name));
}

describe('serve with backends that register', () => {
  it('REG-01: needs no other backend, and calls one from when it is connected', async () => {
    const { port } = await backend();
    const { client, register, program } = await start();
    expect(await answer(client)).toEqual(['14', undefined, 'no_backend']);
    await register('b1', port);
    expect(await answer(client)).toEqual(['0', 'b1', undefined]);
    expect(program.lines.filter(({ level }) => Number(level) > 30)).toEqual([]);
  });

  it('REG-04: a stream that breaks is a loss: calls there end at once, and it is no backend any more', async () => {
    const silent = await backend({ onStream: behave.silent });
    const { client, register, program } = await start();
    const registration = await register('b1', silent.port);
    const call = client.call('/a.B/C', { messages: ['x'] });
    await silent.waitForStream(1);
    registration.cancel();
    await call.done();
    expect([call.trailer('grpc-status'), call.trailer('hedgerow-origin'), call.trailer('hedgerow-backend')]).toEqual([
      '14',
      'proxy',
      'b1',
    ]);
    await program.line(({ event, outcomes }) => event === 'attempts_lost' && outcomes !== undefined);
    expect(await answer(client)).toEqual(['14', undefined, 'no_backend']);
  });

  it('REG-02: a stream that ends lets calls finish', async () => {
    const silent = await backend({ onStream: behave.silent });
    const { client, register, program } = await start(['--drain-timeout', '300ms']);
    const registration = await register('b1', silent.port);
    const call = client.call('/a.B/C', { messages: ['x'] });
    await silent.waitForStream(1);
    registration.finish();
    await program.line(({ event }) => event === 'left');
    expect(await answer(client)).toEqual(['14', undefined, 'no_backend']);
    await call.done();
    expect([call.trailer('grpc-status'), call.trailer('hedgerow-stop-reason')]).toEqual(['14', 'drain_timeout']);
  });
});
