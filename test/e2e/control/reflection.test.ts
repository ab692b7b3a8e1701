import { afterEach, describe, expect, it } from 'vitest';
import { Looker } from './lookers.js';
import { ControlRig } from './rig.js';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function start(...args: ConstructorParameters<typeof ControlRig>): Promise<ControlRig> {
  const rig = new ControlRig(...args);
  ends.push(() => rig.stop());
  return rig.start();
}

function look(rig: ControlRig, token?: string): Looker {
  const looker = new Looker(`127.0.0.1:${rig.port}`, token);
  ends.push(() => looker.close());
  return looker;
}

const services = [
  'grpc.channelz.v1.Channelz',
  'grpc.health.v1.Health',
  'grpc.reflection.v1.ServerReflection',
  'grpc.reflection.v1alpha.ServerReflection',
  'hedgerow.registry.v1.Registry',
];

describe.each(['v1', 'v1alpha'] as const)('grpc.reflection.%s', (version) => {
  it('CTL-01: lists every service that is there, and gives files for each with all that they need', async () => {
    const reflection = look(await start()).reflect(version);
    expect([...(await reflection.services())].sort()).toEqual(services);
    for (const service of services) {
      const files = await reflection.files(service);
      expect(
        [...files.values()].flatMap((file) => file.service?.map(({ name }) => `${file.package}.${name}`) ?? []),
      ).toEqual([service]);
      for (const { dependency = [] } of files.values())
        for (const needed of dependency) expect(files.has(needed)).toBe(true);
    }
    expect((await reflection.files('grpc.channelz.v1.Channelz')).get('grpc_channelz_v1.proto')?.dependency).toEqual([
      'google_protobuf.proto',
    ]);
    expect((await reflection.files('hedgerow.registry.v1.RegisterRequest')).size).toBe(1);
    reflection.finish();
    expect(await reflection.ended()).toBe('0 OK');
  });

  it('CTL-02: what is not there, or nothing asked, is an error in an answer, and the stream goes on', async () => {
    const reflection = look(await start()).reflect(version);
    await expect(reflection.files('pkg.Other')).rejects.toThrow('5 Symbol not found: pkg.Other');
    expect((await reflection.ask({ fileByFilename: 'other.proto' })).errorResponse?.errorCode).toBe(5);
    expect((await reflection.ask({})).errorResponse?.errorCode).toBe(12);
    expect(await reflection.services()).toHaveLength(services.length);
  });
});

describe('who may look', () => {
  const refusal = '16 beyond loopback this needs authorization: Bearer, with the token of --admin-token-file';
  const beyond = { listen: { kind: 'tcp', host: '0.0.0.0', port: 0 }, token: 'a secret' } as const;

  it.each([undefined, 'a guess'])('CTL-03: beyond loopback nobody with the token %s', async (token) => {
    const looker = look(await start(beyond), token);
    for (const version of ['v1', 'v1alpha'] as const) {
      const reflection = looker.reflect(version);
      await expect(reflection.services()).rejects.toThrow(refusal);
    }
    const methods = [
      'GetTopChannels',
      'GetServers',
      'GetServerSockets',
      'GetServer',
      'GetChannel',
      'GetSubchannel',
      'GetSocket',
    ] as const;
    for (const method of methods) await expect(looker.ask(method)).rejects.toThrow(refusal);
  });

  it('CTL-03: who has the token may', async () => {
    const looker = look(await start(beyond), 'a secret');
    expect(await looker.reflect('v1').services()).toHaveLength(services.length);
    expect((await looker.ask('GetServers')).end).toBe(true);
  });

  it('CTL-03: on loopback everybody may', async () => {
    const looker = look(await start({ token: 'a secret' }));
    expect(await looker.reflect('v1alpha').services()).toHaveLength(services.length);
    expect((await looker.ask('GetTopChannels')).end).toBe(true);
  });
});
