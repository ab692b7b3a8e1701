import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { catalogue } from '../../../src/telemetry/metrics/catalogue.js';
import { hedgerow, type Program } from '../../support/program.js';
import { behave, connectRawClient, type RawBackend, startRawBackend } from '../../support/raw-peer.js';
import { samples } from '../../unit/telemetry/metrics/rig.js';

let backends: RawBackend[] = [];
afterEach(async () => {
  await Promise.all(backends.map((backend) => backend.close()));
  backends = [];
});

async function start(flags: readonly string[] = [], files: Record<string, string> = {}): Promise<Program> {
  const backend = await startRawBackend({ port: 0 });
  backends.push(backend);
  backend.behave(behave.ok('pong'));
  const program = await hedgerow(
    [
      'serve',
      '--listen',
      '127.0.0.1:0',
      '--admin',
      '127.0.0.1:0',
      '--backend',
      `b1=127.0.0.1:${backend.port}`,
      ...flags,
    ],
    { files },
  );
  await program.line(({ event }) => event === 'connected');
  return program;
}

const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

async function scrape(program: Program): Promise<string> {
  return (await fetch(`http://${await program.admin()}/metrics`)).text();
}

describe('/metrics on the program', () => {
  it('MET-07: Prometheus text with every metric of docs/metrics.md, after one call and with HEAD', async () => {
    const program = await start();
    const client = await connectRawClient(await program.port());
    await client.call('/pkg.S/M', { messages: ['hi'] }).done();
    const url = `http://${await program.admin()}/metrics`;
    const response = await fetch(url);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    const text = await response.text();
    for (const { name, type } of catalogue) expect(text).toContain(`# TYPE ${name} ${type}\n`);
    expect(samples(text, 'hedgerow_calls_total')).toEqual({ 'method="pkg.S/M",code="OK",stop_reason="ok"': 1 });
    expect(samples(text, 'hedgerow_client_connections')).toEqual({ '': 1 });
    expect(samples(text, 'hedgerow_client_connects_total')).toEqual({ '': 1 });
    const frames = samples(text, 'hedgerow_wire_frames_total');
    for (const side of ['client', 'backend'])
      for (const direction of ['received', 'sent'])
        expect(frames[`side="${side}",direction="${direction}",type="DATA"`]).toBe(1);
    expect(Object.values(samples(text, 'hedgerow_wire_bytes_total')).every((bytes) => bytes > 50)).toBe(true);
    expect(Object.keys(samples(text, 'hedgerow_build_info'))).toEqual([
      expect.stringMatching(/^version="\d+\.\d+\.\d+",node="v\d+\.\d+\.\d+"$/),
    ]);
    expect(samples(text, 'process_resident_memory_bytes')['']).toBeGreaterThan(10_000_000);
    expect(samples(text, 'process_cpu_seconds_total')['']).toBeGreaterThan(0.01);
    expect(samples(text, 'process_start_time_seconds')['']).toBeGreaterThan(Date.now() / 1000 - 300);
    // Looked at ten times a second, from the start on.
    while ((samples(await scrape(program), 'hedgerow_event_loop_lag_seconds_count')[''] ?? 0) === 0);
    const head = await fetch(url, { method: 'HEAD' });
    expect([head.status, await head.text()]).toEqual([200, '']);
    client.kill();
  });

  it('MET-08: files that are read again, by what came of it', async () => {
    const program = await start(['--service-config', 'config.json'], { 'config.json': '{}' });
    const file = path.join(program.directory, 'config.json');
    const count = async (): Promise<Record<string, number>> => samples(await scrape(program), 'hedgerow_reloads_total');
    program.signal('SIGHUP');
    await program.line(({ msg }) => String(msg).includes(': unchanged'));
    expect(await count()).toEqual({ 'what="service_config",outcome="unchanged"': 1 });
    await writeFile(file, '{"methodConfig": 5}');
    program.signal('SIGHUP');
    await program.line(({ msg }) => String(msg).includes('service config rejected'));
    expect((await count())['what="service_config",outcome="rejected"']).toBeGreaterThanOrEqual(1);
    await writeFile(file, '{"methodConfig": []}');
    program.signal('SIGHUP');
    await program.line(({ msg }) => String(msg).includes('in force,'));
    expect((await count())['what="service_config",outcome="applied"']).toBe(1);
  });

  it('MET-09: clients that broke a rule, by which', async () => {
    const program = await start();
    const port = await program.port();
    const say = async (text: string, refused: number): Promise<void> => {
      const socket = net.connect(port, '127.0.0.1');
      socket.on('error', () => {});
      socket.resume();
      socket.write(text);
      await program.line(() => program.out.split('client refused').length > refused);
      socket.destroy();
    };
    await say('GET / HTTP/1.1\r\n\r\n', 1);
    await say(`${preface}\0\0\x08\x06\0\0\0\0\0pingpong`, 2);
    // The budget of 10 000 grows by 200 a second, also while a slow machine reads this.
    await say(`${preface}\0\0\0\x04\0\0\0\0\0${'\0\0\x08\x06\0\0\0\0\0pingpong'.repeat(20_000)}`, 3);
    expect(samples(await scrape(program), 'hedgerow_client_refused_total')).toEqual({
      'reason="not_http2"': 1,
      'reason="protocol_error"': 1,
      'reason="flood"': 1,
    });
  });

  it('MET-09: a client that makes us hold more than --client-memory-limit is no flood', async () => {
    const backend = await startRawBackend({ windows: 'none', onStream: behave.silent });
    backends.push(backend);
    const limits = ['--client-memory-limit', '1MiB', '--per-call-buffer-limit', '0'];
    const program = await hedgerow(
      ['serve', '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--backend', `b1=${backend.address}`, ...limits],
      {},
    );
    const greedy = await connectRawClient(await program.port());
    const calls = Array.from({ length: 6 }, () => greedy.call('/a/b', { end: false }));
    await backend.waitForStream(6);
    for (const call of calls) void call.sendData(Buffer.alloc(200_000), false);
    await greedy.whenClosed();
    await program.line(({ msg }) => /client refused/.test(String(msg)));
    expect(samples(await scrape(program), 'hedgerow_client_refused_total')).toEqual({ 'reason="memory"': 1 });
  });

  it('MET-09: clients past a limit, by which', async () => {
    const program = await start(['--max-connections', '1']);
    const port = await program.port();
    const holder = await connectRawClient(port);
    await holder.call('/pkg.S/M', { messages: ['hi'] }).done();
    const second = net.connect(port, '127.0.0.1');
    second.on('error', () => {});
    await once(second, 'close');
    expect(samples(await scrape(program), 'hedgerow_client_refused_total')).toEqual({ 'reason="max_connections"': 1 });
    holder.kill();
  });
});
