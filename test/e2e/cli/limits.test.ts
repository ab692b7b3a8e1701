import { describe, expect, it } from 'vitest';
import { behave } from '../../support/behave.js';
import { headers, ping, requestLines } from '../../support/frames.js';
import { serve } from '../../support/program.js';
import { startRawBackend } from '../../support/raw-backend.js';
import { connectRawClient } from '../../support/raw-peer.js';

const down = ['--backend', 'b1=127.0.0.1:9'];
const calm = 0xb;

describe('--max-total-streams', () => {
  it('refuses a stream more over all connections, says so, and takes new ones when there is room', async () => {
    const backend = await startRawBackend({ onStream: behave.silent });
    const program = await serve(['--max-total-streams', '2', '--backend', `b1=${backend.address}`]);
    const port = await program.port();
    const [one, two] = [await connectRawClient(port), await connectRawClient(port)];
    const first = one.call('/a/b');
    const stuck = two.call('/a/b');
    await backend.waitForStream(2);
    const refused = one.call('/a/b');
    expect(await refused.whenReset()).toBe(7);
    expect(await program.line(({ msg }) => /--max-total-streams/.test(String(msg)))).toMatchObject({ level: 40 });

    backend.behave(behave.ok());
    first.reset();
    // The proxy has read the reset when it answers this.
    await one.ping();
    expect((await one.call('/a/b').done()).status).toBe(0);
    stuck.reset();
    await one.close();
    await two.close();
    await backend.close();
  });
});

describe('--client-memory-limit', () => {
  it('over it the client that holds most is sent away and logged; others feel nothing', async () => {
    const backend = await startRawBackend({ windows: 'none', onStream: behave.silent });
    const program = await serve([
      '--client-memory-limit',
      '1MiB',
      '--per-call-buffer-limit',
      '0',
      '--backend',
      `b1=${backend.address}`,
    ]);
    const port = await program.port();
    const [greedy, honest] = [await connectRawClient(port), await connectRawClient(port)];
    const kept = honest.call('/a/kept', { end: false });
    const first = await backend.waitForStream(1);
    const calls = Array.from({ length: 6 }, () => greedy.call('/a/b', { end: false }));
    await backend.waitForStream(7);
    // The backend takes 64 KiB of a connection's bytes: the rest waits for it.
    for (const call of calls) void call.sendData(Buffer.alloc(200_000), false);
    expect(await greedy.whenGoaway()).toMatchObject({ code: calm });
    await greedy.whenClosed();
    expect(await program.line(({ msg }) => /client refused/.test(String(msg)))).toMatchObject({
      level: 40,
      msg: expect.stringMatching(
        /^client refused: holds 1\d{6} bytes in memory, the most of all clients, who hold 1\d{6} together, more than --client-memory-limit permits$/,
      ),
    });
    first.trailersOnly(0);
    expect((await kept.done()).status).toBe(0);
    await honest.close();
    await backend.close();
  });

  it('output that a client does not read counts, and is freed at once', async () => {
    const backend = await startRawBackend({
      onStream: (stream) => stream.trailersOnly(0, [['x-wide', 'w'.repeat(12_000)]]),
    });
    const program = await serve(['--client-memory-limit', '1MiB', '--backend', `b1=${backend.address}`]);
    const port = await program.port();
    const deaf = await connectRawClient(port);
    deaf.connection.pause();
    const told = program.line(({ msg }) => /client refused: holds \d+ bytes in memory/.test(String(msg)));
    // Trailers need no window: what the kernel takes is some MiB, what is more stays with the proxy.
    for (let wave = 1; wave <= 4 && !deaf.connection.closed; wave += 1) {
      for (let i = 0; i < 800; i += 1) deaf.call('/a/b');
      await Promise.race([told, backend.waitForStream(800 * wave).catch(() => {})]);
    }
    await told;
    const other = await connectRawClient(port);
    expect((await other.call('/a/b').done()).status).toBe(0);
    await other.close();
    await backend.close();
  });
});

describe('--flood-budget', () => {
  it('a client that spends more gets GOAWAY ENHANCE_YOUR_CALM and a line in the log; others feel nothing', async () => {
    const program = await serve(['--flood-budget', '100', ...down]);
    const port = await program.port();
    const other = await connectRawClient(port);
    const client = await connectRawClient(port);
    client.connection.send(...Array.from({ length: 1000 }, () => ping('abcdefgh')));
    expect(await client.whenGoaway()).toMatchObject({ code: calm });
    await client.whenClosed();
    expect(await program.line(({ msg }) => /client refused/.test(String(msg)))).toMatchObject({
      level: 40,
      peer: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
      msg: expect.stringMatching(/frames that carry nothing for a call: \d+ PING/),
    });
    await other.ping();
    await other.close();
  });

  it('a backend that spends more loses its connection and its attempts; the call has another elsewhere', async () => {
    const flooding = await startRawBackend({
      onStream: (stream) => stream.connection.send(...Array.from({ length: 1000 }, () => ping('abcdefgh'))),
    });
    const good = await startRawBackend();
    const policy = {
      maxAttempts: 3,
      initialBackoff: '0.001s',
      maxBackoff: '0.001s',
      backoffMultiplier: 1,
      retryableStatusCodes: ['UNAVAILABLE'],
    };
    const program = await serve(
      ['--flood-budget', '100', '--backend', `bad=${flooding.address}`, '--backend', `good=${good.address}`],
      { files: { 'service-config.json': JSON.stringify({ methodConfig: [{ name: [{}], retryPolicy: policy }] }) } },
    );
    const port = await program.port();
    await flooding.waitForConnection(1);
    await good.waitForConnection(1);
    const client = await connectRawClient(port);
    // One of the two begins at the flooding one.
    const calls = [client.call('/a/b'), client.call('/a/b')];
    for (const call of calls) expect((await call.done()).status).toBe(0);
    const connection = await flooding.waitForConnection(1);
    expect(await connection.whenGoaway()).toMatchObject({ code: calm });
    await program.line(({ backend, event }) => backend === 'bad' && event === 'lost');
    await client.close();
    await flooding.close();
    await good.close();
  });
});

describe('--header-timeout', () => {
  it('a header block that does not come to its end: GOAWAY ENHANCE_YOUR_CALM, and a line in the log', async () => {
    const program = await serve(['--header-timeout', '50ms', ...down]);
    const client = await connectRawClient(await program.port());
    client.connection.send(headers(1, requestLines, 0));
    expect(await client.whenGoaway()).toMatchObject({ code: calm });
    await client.whenClosed();
    expect(await program.line(({ msg }) => /client refused/.test(String(msg)))).toMatchObject({
      level: 40,
      msg: 'client refused: a header block was not whole within 50 ms',
    });
  });
});

describe('--preface-timeout', () => {
  it.each([
    ['nothing', []],
    ['half a preface', [Buffer.from('PRI * HT')]],
    ['a preface without SETTINGS', [Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')]],
  ])('a client that sends %s is closed, and logged', async (_what, bytes) => {
    const program = await serve(['--preface-timeout', '50ms', ...down]);
    const client = await connectRawClient(await program.port(), { greet: false });
    client.connection.send(...bytes);
    await client.whenClosed();
    expect(await program.line(({ msg }) => /client refused/.test(String(msg)))).toMatchObject({
      level: 40,
      msg: expect.stringContaining('within 50 ms'),
    });
  });
});
