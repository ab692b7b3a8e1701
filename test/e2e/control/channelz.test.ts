import { X509Certificate } from 'node:crypto';
import * as grpc from '@grpc/grpc-js';
import { afterEach, describe, expect, it } from 'vitest';
import { GrpcJsClient, startGrpcJsServer } from '../../support/grpc-js-peers.js';
import { hedgerow, type Program } from '../../support/program.js';
import { behave, connectRawClient, type RawBackend, type RawClient, startRawBackend } from '../../support/raw-peer.js';
import { certificate, identityFiles, privateKey } from '../../support/tls.js';
import { type Answers, type LookedSocket, Looker } from './lookers.js';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

interface Running {
  readonly program: Program;
  readonly looker: Looker;
}

/** The built program, its backends connected, and a client of its control address. */
async function start(flags: readonly string[], backends: number): Promise<Running> {
  const program = await hedgerow([
    ...[
      'serve',
      '--listen',
      '127.0.0.1:0',
      '--admin',
      '127.0.0.1:0',
      '--control',
      '127.0.0.1:0',
      '--access-log',
      'off',
    ],
    ...flags,
  ]);
  const { control } = await program.line('ready');
  const connected = new Set<unknown>();
  await program.line(({ event, backend }) => {
    if (event === 'connected') connected.add(backend);
    return connected.size === backends;
  });
  const looker = new Looker(String(control));
  ends.push(() => looker.close());
  return { program, looker };
}

async function backend(...[options]: Parameters<typeof startRawBackend>): Promise<RawBackend> {
  const started = await startRawBackend(options);
  ends.push(() => started.close());
  return started;
}

async function client(program: Program): Promise<RawClient> {
  const connected = await connectRawClient(await program.port());
  ends.push(() => connected.kill());
  return connected;
}

async function channelOf({ looker }: Running, name: string): Promise<Answers['GetTopChannels']['channel'][number]> {
  const { channel } = await looker.ask('GetTopChannels');
  const found = channel.find(({ ref }) => ref.name === name);
  if (found === undefined) throw new Error(`there is no channel ${name}`);
  return found;
}

async function subchannelOf(running: Running, name: string): Promise<Answers['GetSubchannel']['subchannel']> {
  const [ref] = (await channelOf(running, name)).subchannel_ref;
  return (await running.looker.ask('GetSubchannel', { subchannel_id: ref?.subchannel_id })).subchannel;
}

const loopback = Buffer.of(127, 0, 0, 1);

describe('grpc.channelz.v1 of the built program', () => {
  it('CTL-04: a channel for each backend name, with the attempts there and the members', async () => {
    const [one, other] = [await backend(), await backend({ onStream: behave.fail(5) })];
    const flags = ['--backend', `b1=${one.address}`, '--backend', `g=localhost:${other.port}`];
    const running = await start(flags, 2);
    const from = await client(running.program);
    const before = Date.now();
    for (const pin of ['b1', 'b1', 'g']) {
      const call = from.call('/a.B/C', { messages: ['x'], headers: [['hedgerow-pin', pin]] });
      await call.done();
    }
    const b1 = await channelOf(running, 'b1');
    expect(b1.data).toMatchObject({
      state: { state: 'READY' },
      target: one.address,
      calls_started: '2',
      calls_succeeded: '2',
      calls_failed: '0',
    });
    const seconds = Number(b1.data.last_call_started_timestamp?.seconds);
    expect(seconds).toBeGreaterThanOrEqual(Math.floor(before / 1000) - 1);
    expect(seconds).toBeLessThanOrEqual(Date.now() / 1000 + 1);
    const g = await channelOf(running, 'g');
    expect(g.data).toMatchObject({ calls_started: '1', calls_succeeded: '0', calls_failed: '1' });
    expect(g.subchannel_ref.map(({ name }) => name)).toEqual([`g/127.0.0.1:${other.port}`]);
    expect(await running.looker.ask('GetChannel', { channel_id: g.ref.channel_id })).toEqual({ channel: g });
    expect((await subchannelOf(running, 'g')).data).toEqual(g.data);
  });

  it('CTL-06: a connection to a backend, by its addresses, streams and windows', async () => {
    const one = await backend({ onStream: behave.silent });
    const running = await start(['--backend', `b1=localhost:${one.port}`], 1);
    const from = await client(running.program);
    const left = from.call('/a.B/C', { messages: ['x'] });
    await one.waitForStream(1);
    left.reset();
    from.call('/a.B/C', { messages: ['x'] });
    await one.waitForStream(2);
    const { socket_ref } = await subchannelOf(running, 'b1');
    expect(socket_ref.map(({ name }) => name)).toEqual([`b1/127.0.0.1:${one.port}, connection 1`]);
    const { socket } = await running.looker.ask('GetSocket', { socket_id: socket_ref[0]?.socket_id });
    expect(socket.data).toMatchObject({
      streams_started: '2',
      streams_succeeded: '0',
      streams_failed: '1',
      keep_alives_sent: '0',
      last_remote_stream_created_timestamp: null,
      local_flow_control_window: { value: expect.stringMatching(/^\d+$/) },
    });
    expect(socket.remote?.tcpip_address).toEqual({ ip_address: loopback, port: one.port });
    expect(socket.local?.tcpip_address?.ip_address).toEqual(loopback);
    expect(socket.remote_name).toBe('localhost');
    expect(socket.security).toBeNull();
  });

  it("CTL-05, CTL-06: one server, with its listeners and clients' connections, page by page", async () => {
    const one = await backend();
    const running = await start(['--backend', `b1=${one.address}`, '--listen', '127.0.0.1:0'], 1);
    const { looker, program } = running;
    const from = await client(program);
    await from.call('/a.B/C', { messages: ['x'] }).done();
    const other = await client(program);
    await other.call('/a.B/C', { messages: ['x'] }).done();
    const { server, end } = await looker.ask('GetServers');
    expect([server.length, end]).toEqual([1, true]);
    const [here] = server;
    expect(here?.data).toMatchObject({ calls_started: '2', calls_succeeded: '2', calls_failed: '0' });
    expect(here?.listen_socket.map(({ name }) => name)).toEqual((await program.line('ready'))['listen']);
    const listener = await looker.ask('GetSocket', { socket_id: here?.listen_socket[0]?.socket_id });
    expect(listener.socket).toMatchObject({ data: null, remote: null });
    expect(listener.socket.local?.tcpip_address).toEqual({ ip_address: loopback, port: await program.port() });

    const server_id = here?.ref.server_id;
    const both = (await looker.ask('GetServerSockets', { server_id })).socket_ref;
    expect(both).toHaveLength(2);
    const { socket } = await looker.ask('GetSocket', { socket_id: both[0]?.socket_id });
    expect(socket.data).toMatchObject({ streams_started: '1', streams_succeeded: '1', streams_failed: '0' });
    expect(socket.data?.['last_remote_stream_created_timestamp']).not.toBeNull();
    expect(`127.0.0.1:${socket.remote?.tcpip_address?.port}`).toBe(both[0]?.name);
    expect(socket.local?.tcpip_address?.port).toBe(await program.port());

    expect(await looker.ask('GetServerSockets', { server_id, max_results: 1 })).toEqual({
      socket_ref: both.slice(0, 1),
      end: false,
    });
    const start_socket_id = Number(both[0]?.socket_id) + 1;
    expect(await looker.ask('GetServerSockets', { server_id, start_socket_id, max_results: 1 })).toEqual({
      socket_ref: both.slice(1),
      end: true,
    });
  });

  it('CTL-06: with mutual TLS on both sides, the suites and the certificates that were shown', async () => {
    const identity = { private_key: Buffer.from(privateKey('server')), cert_chain: Buffer.from(certificate('server')) };
    const server = await startGrpcJsServer(
      { unary: ({ request }, done) => done(null, request) },
      {},
      grpc.ServerCredentials.createSsl(Buffer.from(certificate('ca')), [identity], true),
    );
    ends.push(() => server.stop());
    const [own, ca, toBackends] = [identityFiles('server'), identityFiles('ca'), identityFiles('client-two')];
    const running = await start(
      [
        ...['--backend', `b1=127.0.0.1:${server.port}`, '--backend-tls', '--backend-ca', ca.cert],
        ...['--backend-cert', toBackends.cert, '--backend-key', toBackends.key],
        ...['--tls-cert', own.cert, '--tls-key', own.key, '--tls-client-ca', ca.cert],
      ],
      1,
    );
    const { looker, program } = running;
    const shown = [certificate('ca'), privateKey('client'), certificate('client')].map((pem) => Buffer.from(pem));
    const from = new GrpcJsClient(await program.port(), {}, grpc.credentials.createSsl(shown[0], shown[1], shown[2]));
    ends.push(() => from.close());
    expect((await from.unary('x')).code).toBe(0);

    const security = ({ security: told }: LookedSocket): unknown => told?.tls;
    const der = (name: Parameters<typeof certificate>[0]): Buffer => new X509Certificate(certificate(name)).raw;
    const [upward] = (await subchannelOf(running, 'b1')).socket_ref;
    expect(security((await looker.ask('GetSocket', { socket_id: upward?.socket_id })).socket)).toMatchObject({
      standard_name: expect.stringMatching(/^TLS_/),
      local_certificate: der('client-two'),
      remote_certificate: der('server'),
    });
    const [here] = (await looker.ask('GetServers')).server;
    const [downward] = (await looker.ask('GetServerSockets', { server_id: here?.ref.server_id })).socket_ref;
    expect(security((await looker.ask('GetSocket', { socket_id: downward?.socket_id })).socket)).toMatchObject({
      standard_name: expect.stringMatching(/^TLS_/),
      local_certificate: der('server'),
      remote_certificate: der('client'),
    });
  });

  it('CTL-08: what is not there is NOT_FOUND, a negative size of a page INVALID_ARGUMENT', async () => {
    const { looker } = await start(['--backend', `b1=${(await backend()).address}`], 1);
    await expect(looker.ask('GetSocket', { socket_id: '9007199254740993' })).rejects.toThrow('5 no socket has the id');
    await expect(looker.ask('GetChannel', { channel_id: -1 })).rejects.toThrow('5 no channel has the id -1');
    await expect(looker.ask('GetServerSockets', {})).rejects.toThrow('5 no server has the id 0');
    await expect(looker.ask('GetTopChannels', { max_results: -1 })).rejects.toThrow('3 max_results must not');
  });
});
