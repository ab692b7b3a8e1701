import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import * as grpc from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import type { BindAddress } from '../../../src/runtime/bind-server.js';
import { ControlRig } from './rig.js';

const rigs: ControlRig[] = [];
const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(rigs.splice(0).map((rig) => rig.stop()));
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

async function start(...args: ConstructorParameters<typeof ControlRig>): Promise<ControlRig> {
  const rig = new ControlRig(...args);
  rigs.push(rig);
  return rig.start();
}

const everywhere: BindAddress = { kind: 'tcp', host: '0.0.0.0', port: 0 };
const b1 = { name: 'b1', target: '127.0.0.1:7001' };

describe('grpc.health.v1.Health', () => {
  it('REG-28: serves, until it is told that the proxy drains; who watches is told', async () => {
    const rig = await start();
    const client = rig.client();
    const watch = client.watch('');
    await watch.when(1);
    expect(await client.check('')).toBe('SERVING');
    rig.control.setServing(true);
    rig.control.setServing(false);
    expect(await client.check('')).toBe('NOT_SERVING');
    expect(await client.check('hedgerow.registry.v1.Registry')).toBe('NOT_SERVING');
    expect(await client.list()).toEqual({
      '': { status: 'NOT_SERVING' },
      'hedgerow.registry.v1.Registry': { status: 'NOT_SERVING' },
    });
    rig.control.setServing(true);
    expect(await watch.when(3)).toEqual(['SERVING', 'NOT_SERVING', 'SERVING']);
  });

  it('REG-28: a service that is not there: NOT_FOUND to a check, SERVICE_UNKNOWN to a watch, which stays open', async () => {
    const rig = await start();
    const client = rig.client();
    expect(await client.check('pkg.Other')).toBe('5 no such service here');
    const watch = client.watch('pkg.Other');
    await watch.when(1);
    rig.control.setServing(false);
    expect(await client.check('')).toBe('NOT_SERVING');
    expect(watch.statuses).toEqual(['SERVICE_UNKNOWN']);
    watch.cancel();
  });
});

describe('who may register', () => {
  async function attempt(rig: ControlRig, authorization: readonly string[]): Promise<string> {
    const metadata = new grpc.Metadata();
    for (const value of authorization) metadata.add('authorization', value);
    const stream = rig.client(`127.0.0.1:${rig.port}`).open(metadata);
    stream.send({ registration: b1 });
    return Promise.race(
      [stream.ended(), stream.reply(0).then(() => 'registered')].map((p) => p.catch(() => stream.ended())),
    );
  }
  const refusal = '16 beyond loopback this needs authorization: Bearer, with the token of --admin-token-file';

  it('REG-26: beyond loopback only who has the token; health is told to all', async () => {
    const rig = await start({ listen: everywhere, token: 'a secret' });
    for (const wrong of [[], ['Bearer a secres'], ['Bearer a secret and more'], ['a secret'], ['Bearer ']]) {
      expect(await attempt(rig, wrong)).toBe(refusal);
    }
    expect(rig.told).toEqual([]);
    expect(rig.refused).toHaveLength(5);
    expect(await attempt(rig, ['Bearer a secret'])).toBe('registered');
    expect(await rig.client().check('')).toBe('SERVING');
  });

  it.each([null, ''])('REG-26: beyond loopback with %j for a token nobody', async (token) => {
    const rig = await start({ listen: everywhere, token });
    for (const value of ['Bearer ', 'Bearer null', 'Bearer x']) expect(await attempt(rig, [value])).toBe(refusal);
  });

  it('REG-26: on loopback nobody needs one', async () => {
    const rig = await start({ token: 'a secret' });
    expect(await attempt(rig, [])).toBe('registered');
  });
});

describe('the control listener', () => {
  it('an address in use is one sentence with the flag and the address', async () => {
    const { port } = await start();
    const second = new ControlRig({ listen: { kind: 'tcp', host: '127.0.0.1', port } });
    await expect(second.start()).rejects.toThrow(`--control 127.0.0.1:${port}: the address is in use`);
  });

  it('a unix socket is served, without a token', async () => {
    const directory = await mkdtemp(path.join(tmpdir(), 'hedgerow-control-'));
    cleanups.push(() => rm(directory, { recursive: true }));
    const file = path.join(directory, 'c.sock');
    const rig = await start({ listen: { kind: 'unix', path: file }, token: 'a secret' });
    expect(rig.control.address).toBe(`unix:${file}`);
    await rig.client(`unix:${file}`).register(b1);
    await rig.control.stop();
    expect(existsSync(file)).toBe(false);
  });

  it('stop waits for no watch and for no connection that says nothing', async () => {
    const rig = await start();
    const watch = rig.client().watch('');
    await watch.when(1);
    const idle = net.connect({ port: rig.port, host: '127.0.0.1' });
    const closed = new Promise<void>((resolve) => idle.on('close', () => resolve()));
    await new Promise<void>((resolve) => idle.on('data', () => resolve()));
    await rig.control.stop();
    await closed;
    expect(rig.alarms.pending).toBe(0);
  });

  it('what is not gRPC, and what is not there, are answered and change nothing', async () => {
    const rig = await start();
    const client = new grpc.Client(`127.0.0.1:${rig.port}`, grpc.credentials.createInsecure());
    const same = (value: Buffer): Buffer => value;
    const code = await new Promise((resolve) => {
      client.makeUnaryRequest('/hedgerow.registry.v1.Registry/Other', same, same, Buffer.alloc(0), (error) =>
        resolve(error?.code),
      );
    });
    client.close();
    expect(code).toBe(grpc.status.UNIMPLEMENTED);
    const socket = net.connect({ port: rig.port, host: '127.0.0.1' });
    const closed = new Promise<void>((resolve) => socket.on('close', () => resolve()));
    socket.on('data', () => {});
    socket.on('error', () => {});
    socket.end('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await closed;
    await rig.client().register(b1);
    expect(rig.told).toEqual(['put b1 127.0.0.1:7001 new']);
  });
});
