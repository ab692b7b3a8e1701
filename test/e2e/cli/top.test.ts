import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { hedgerow, type Program, ran } from '../../support/program.js';
import { behave, connectRawClient, type RawBackend, startRawBackend } from '../../support/raw-peer.js';

let backends: RawBackend[] = [];
afterEach(async () => {
  await Promise.all(backends.map((backend) => backend.close()));
  backends = [];
});

/** With one backend, which refuses every call with NOT_FOUND. */
async function start(admin = '127.0.0.1:0'): Promise<Program> {
  const backend = await startRawBackend({ port: 0 });
  backends.push(backend);
  backend.behave(behave.fail(5));
  const target = `b1=127.0.0.1:${backend.port}`;
  const program = await hedgerow(['serve', '--listen', '127.0.0.1:0', '--admin', admin, '--backend', target]);
  await program.line(({ event }) => event === 'connected');
  return program;
}

/** One call, which has ended. */
async function fail(program: Program): Promise<void> {
  const client = await connectRawClient(await program.port());
  await client.call('/shop.Cart/Add', { messages: ['hi'] }).done();
  client.kill();
}

const quickly = ['--interval', '100ms'];

describe('hedgerow top', () => {
  it('TOP-16: --once prints one frame, without escape codes, and exits 0', async () => {
    const program = await start();
    await fail(program);
    const { code, out, err } = await ran(['top', '--admin', await program.admin(), '--once', ...quickly]);
    expect([code, err]).toEqual([0, '']);
    expect(out).toContain(`hedgerow ${/\d+\.\d+\.\d+/.exec(out)?.[0]}  ${await program.admin()}`);
    expect(out).toMatch(/^b1 +ready +0 +0 +0 %$/m);
    expect(out).toMatch(/^\d\d:\d\d:\d\d Cart\/Add +│▒+ *│ .* ms no_policy NOT_FOUND$/m);
    expect(out).not.toContain('\u001b');
  });

  it('TOP-18: --once --json prints one line of JSON', async () => {
    const program = await start();
    await fail(program);
    const { code, out } = await ran(['top', '--admin', await program.admin(), '--once', '--json', ...quickly]);
    expect([code, out.split('\n').length]).toEqual([0, 2]);
    expect(JSON.parse(out)).toMatchObject({
      level: 'ok',
      span: { since_start: false, reasons: {} },
      live: { calls: { ended: 1 }, backends: [{ name: 'b1', state: 'ready' }] },
      calls: [{ method: '/shop.Cart/Add', reason: 'no_policy', help: '/troubleshooting#no_policy' }],
    });
  });

  it('asks a unix socket too', async () => {
    const program = await start('unix:a.sock');
    const socket = path.join(program.directory, 'a.sock');
    const { code, out } = await ran(['top', '--admin', `unix:${socket}`, '--once', ...quickly]);
    expect([code, out]).toEqual([0, expect.stringContaining(`  unix:${socket}`)]);
  });

  it('TOP-17: with nobody there --once is one line and exit 1', async () => {
    expect(await ran(['top', '--once', '--admin', '127.0.0.1:9'])).toEqual({
      code: 1,
      out: '',
      err: 'hedgerow top: nothing listens at 127.0.0.1:9; start hedgerow serve, or name its --admin address\n',
    });
  });

  it('TOP-13: what is no admin listener of hedgerow is told as such', async () => {
    const program = await start();
    const listener = `127.0.0.1:${await program.port()}`;
    const { code, err } = await ran(['top', '--once', '--admin', listener]);
    expect([code, err]).toEqual([1, `hedgerow top: ${listener} answered /live with 505\n`]);
  });

  it('TOP-15: without a terminal a frame each interval until a signal; a proxy that is gone is told, once', async () => {
    const program = await start();
    const watching = await hedgerow(['top', '--admin', await program.admin(), ...quickly]);
    await watching.said('last ');
    program.signal('SIGKILL');
    await program.exited();
    await watching.complained('trying again');
    watching.signal('SIGTERM');
    expect(await watching.exited()).toBe(0);
    expect(watching.err.match(/trying again/g)).toHaveLength(1);
    expect(watching.out).not.toContain('\u001b');
  });

  it('TOP-19: it ends when nobody reads it any more', async () => {
    const program = await start();
    const watching = await hedgerow(['top', '--admin', await program.admin(), ...quickly]);
    await watching.said('hedgerow');
    watching.closeStdout();
    expect(await watching.exited()).toBe(0);
  });

  it('wrong usage is one line and exit 2', async () => {
    const { code, out, err } = await ran(['top', '--interval', '1']);
    expect([code, out, err.split('\n').length]).toEqual([2, '', 2]);
  });
});
