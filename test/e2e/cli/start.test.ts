import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import net, { type AddressInfo } from 'node:net';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { hedgerow, type Program, ran, serve } from '../../support/program.js';
import { connectRawClient, startRawBackend } from '../../support/raw-peer.js';

/** A port that nobody listens on: a backend that is not up. */
const down = ['--backend', 'b1=127.0.0.1:9'];
const config = { methodConfig: [{ name: [{ service: 'a.B' }, { service: 'a.C', method: 'D' }] }] };

describe('the ready line', () => {
  it('is the contract’s, with the ports really bound, before any backend is up', async () => {
    const program = await hedgerow(
      ['serve', '--listen', '127.0.0.1:0', '--listen', '[::1]:0', '--admin', '127.0.0.1:0', ...down],
      { files: { 'service-config.json': JSON.stringify(config) } },
    );
    const line = await program.line('ready');
    expect(line).toEqual({
      level: 30,
      time: expect.any(Number),
      msg: 'ready',
      listen: [expect.stringMatching(/^127\.0\.0\.1:[1-9]\d*$/), expect.stringMatching(/^\[::1\]:[1-9]\d*$/)],
      admin: expect.stringMatching(/^127\.0\.0\.1:[1-9]\d*$/),
      control: null,
      backends: 1,
      config: { path: './service-config.json', version: expect.stringMatching(/^[0-9a-f]{12}$/), methods: 2 },
    });
    const client = await connectRawClient(await program.port(0));
    await client.close();
    const answer = await fetch(`http://${await program.admin()}/healthz`);
    expect(answer.status).toBe(200);
  });

  it.each(['trace', 'warn', 'error', 'fatal', 'silent'])('comes at --log-level %s too', async (level) => {
    const program = await serve(['--log-level', level, ...down]);
    expect(await program.line('ready')).toMatchObject({ level: 30, admin: null });
  });

  it('says that no service config was found, which is no error', async () => {
    const program = await serve(down);
    expect(await program.line('ready')).toMatchObject({ config: { path: null, methods: 0 } });
  });

  it('is one JSON object on a line of its own, as is every other line', async () => {
    const program = await serve(down);
    await program.line('ready');
    program.signal('SIGTERM');
    expect(await program.exited()).toBe(0);
    const lines = program.out.trimEnd().split('\n');
    for (const line of lines)
      expect(JSON.parse(line)).toMatchObject({ level: expect.any(Number), msg: expect.any(String) });
    expect(lines.length).toBe(program.lines.length);
    expect(program.err).toBe('');
  });
});

describe('listening', () => {
  it('on a unix socket, which is gone after the end', async () => {
    const program = await hedgerow(['serve', '--listen', 'unix:in.sock', '--admin', 'unix:admin.sock', ...down]);
    expect(await program.line('ready')).toMatchObject({ listen: ['unix:in.sock'], admin: 'unix:admin.sock' });
    const socket = net.connect(path.join(program.directory, 'in.sock'));
    await once(socket, 'connect');
    socket.destroy();
    program.signal('SIGTERM');
    expect(await program.exited()).toBe(0);
    expect(existsSync(path.join(program.directory, 'in.sock'))).toBe(false);
    expect(existsSync(path.join(program.directory, 'admin.sock'))).toBe(false);
  });

  it('takes over a unix socket that a killed process has left', async () => {
    const first = await hedgerow(['serve', '--listen', 'unix:in.sock', '--admin', 'unix:admin.sock', ...down]);
    await first.line('ready');
    first.signal('SIGKILL');
    await first.exited();
    const at = (name: string): string => `unix:${path.join(first.directory, name)}`;
    const second = await hedgerow(['serve', '--listen', at('in.sock'), '--admin', at('admin.sock'), ...down]);
    expect(await second.line('ready')).toMatchObject({ listen: [at('in.sock')] });
    const socket = net.connect(path.join(first.directory, 'in.sock'));
    await once(socket, 'connect');
    socket.destroy();
  });

  it('does not take a unix socket from a process that lives, nor a file that is none', async () => {
    const first = await hedgerow(['serve', '--listen', 'unix:in.sock', '--admin', 'off', ...down]);
    await first.line('ready');
    const taken = `unix:${path.join(first.directory, 'in.sock')}`;
    const second = await ran(['serve', '--listen', taken, '--admin', 'off', ...down]);
    expect(second).toMatchObject({ code: 1, out: '', err: expect.stringContaining(`${taken}: the address is in use`) });
    await writeFile(path.join(first.directory, 'precious'), 'data');
    const third = await ran(['serve', '--listen', `unix:${path.join(first.directory, 'precious')}`, ...down]);
    expect(third.code).toBe(1);
    expect(existsSync(path.join(first.directory, 'precious'))).toBe(true);
  });

  it.each(['--listen', '--admin'])('%s on a port in use is one line, and a start that leaves nothing', async (flag) => {
    const holder = net.createServer().listen(0, '127.0.0.1');
    await once(holder, 'listening');
    const { port } = holder.address() as AddressInfo;
    const other = flag === '--listen' ? '--admin' : '--listen';
    const end = await ran(['serve', flag, `127.0.0.1:${port}`, other, '127.0.0.1:0', ...down]);
    holder.close();
    expect(end).toMatchObject({ code: 1, out: '' });
    expect(oneLine(end.err)).toMatch(
      new RegExp(`^hedgerow serve: ${flag} 127\\.0\\.0\\.1:${port}: the address is in use; `),
    );
  });
});

describe('what a start refuses', () => {
  it.each([
    ['an unknown flag', ['--bakend', 'a=127.0.0.1:1'], 2, /--bakend.*--backend/],
    ['no backend', [], 2, /--backend/],
    [
      'a backend that is one of our listeners',
      ['--listen', '127.0.0.1:7777', '--backend', 'a=127.0.0.1:7777'],
      2,
      /7777/,
    ],
    ['a bad duration', [...down, '--drain-timeout', 'soon'], 2, /--drain-timeout/],
    [
      'a named service config that is missing',
      [...down, '--service-config', 'none.json'],
      2,
      /none\.json: no such file/,
    ],
    ['a settings file that is missing', [...down, '--config', 'none.json'], 2, /none\.json: no such file/],
    [
      'a certificate that is missing',
      [...down, '--tls-cert', 'no.crt', '--tls-key', 'no.key'],
      2,
      /no\.crt: no such file/,
    ],
    ['a token file that is missing', [...down, '--admin-token-file', 'no.txt'], 2, /no\.txt: no such file/],
    ['a CA file that is missing', [...down, '--backend-tls', '--backend-ca', 'no.ca'], 2, /no\.ca: no such file/],
    ['a directory for a file', [...down, '--service-config', '.'], 2, /is a directory/],
  ])('%s', async (_what, flags, code, words) => {
    const end = await ran(['serve', '--admin', 'off', ...flags]);
    expect(end).toMatchObject({ code, out: '' });
    expect(oneLine(end.err)).toMatch(words);
  });

  it('a broken service config: one line with file, line, column and path, and how many more there are', async () => {
    const text =
      '{\n  "methodConfig": [\n    { "name": [{ "service": 3 }], "retryPolicy": { "maxAttempts": 1 } }\n  ]\n}\n';
    const end = await ran(['serve', '--admin', 'off', '--service-config', 'sc.json', ...down], {
      files: { 'sc.json': text },
    });
    expect(end).toMatchObject({ code: 1, out: '' });
    expect(oneLine(end.err)).toMatch(
      /^hedgerow serve: sc\.json:3:\d+: error: methodConfig\[0\]\.\S+: .+; \d+ more, .*hedgerow check sc\.json$/,
    );
  });

  it('one broken default service config, though nobody named it', async () => {
    const end = await ran(['serve', '--admin', 'off', ...down], { files: { 'service-config.json': '{' } });
    expect(end).toMatchObject({ code: 1, out: '' });
    expect(oneLine(end.err)).toMatch(/service-config\.json:1:\d+: error/);
  });
});

describe('settings', () => {
  const ready = async (program: Program): Promise<unknown> => (await program.line('ready'))['backends'];

  it('flags beat variables, variables beat the file, the file beats defaults; each replaces the whole', async () => {
    const files = {
      'h.json': JSON.stringify({
        listen: ['127.0.0.1:0'],
        admin: 'off',
        backend: ['a=127.0.0.1:9', 'b=127.0.0.1:8', 'c=127.0.0.1:7'],
      }),
    };
    const byFile = await hedgerow(['serve', '--config', 'h.json'], { files });
    expect(await ready(byFile)).toBe(3);
    const env = { HEDGEROW_CONFIG: 'h.json', HEDGEROW_BACKEND: 'x=127.0.0.1:9 y=127.0.0.1:8' };
    expect(await ready(await hedgerow(['serve'], { files, env }))).toBe(2);
    expect(await ready(await hedgerow(['serve', ...down], { files, env }))).toBe(1);
  });

  it('a wrong variable, a wrong key: one line with its place', async () => {
    const byVariable = await ran(['serve', ...down], { env: { HEDGEROW_QUEUE_LIMIT: 'many' } });
    expect(byVariable).toMatchObject({ code: 2, out: '' });
    expect(oneLine(byVariable.err)).toMatch(/HEDGEROW_QUEUE_LIMIT/);
    const byKey = await ran(['serve', '--config', 'h.json', ...down], {
      files: { 'h.json': '{\n "queueLimits": 3\n}' },
    });
    expect(byKey).toMatchObject({ code: 2, out: '' });
    expect(oneLine(byKey.err)).toMatch(/h\.json:2:\d+.*queueLimits.*queueLimit/);
  });

  it('a variable that looks misspelt is a warning', async () => {
    const program = await serve(down, { env: { HEDGEROW_QUEU_LIMIT: '3' } });
    const line = await program.line(({ level }) => level === 40);
    expect(line['msg']).toMatch(/HEDGEROW_QUEU_LIMIT.*HEDGEROW_QUEUE_LIMIT/);
  });
});

describe('the other commands', () => {
  it('--version goes to stdout with exit code 0', async () => {
    expect(await ran(['--version'])).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^hedgerow \d+\.\d+\.\d+\n$/),
    });
  });

  it.each([['--help'], ['serve --help'], ['check --help'], ['demo --help']])(
    '%s goes to stdout with exit code 0',
    async (args) => {
      const end = await ran(args.split(' '));
      expect(end).toMatchObject({ code: 0, err: '' });
      expect(end.out).toContain('hedgerow');
    },
  );

  it('no command, an unknown one: usage on stderr, exit 2', async () => {
    expect(await ran([])).toMatchObject({ code: 2, out: '' });
    const end = await ran(['sreve']);
    expect(end).toMatchObject({ code: 2, out: '' });
    expect(oneLine(end.err)).toMatch(/sreve.*serve/);
  });

  const files = {
    'good.json': JSON.stringify(config),
    'bad.json': '{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 1}}]}',
    'odd.json': '{"methodConfigs": []}',
  };

  it('check of an invalid config: exit 1, findings on stdout, the same ones as JSON', async () => {
    const bad = await ran(['check', 'bad.json'], { files });
    expect(bad.code).toBe(1);
    for (const line of bad.out.trimEnd().split('\n'))
      expect(line).toMatch(/^bad\.json:1:\d+: (error|warning): methodConfig\[0\]\.retryPolicy\S*: .+ \[[a-z0-9-]+\]$/);
    const json = await ran(['check', '--json', 'bad.json'], { files });
    expect(json.code).toBe(1);
    const rows: unknown = JSON.parse(json.out);
    expect(rows).toHaveLength(bad.out.trimEnd().split('\n').length);
    expect(rows).toContainEqual({
      file: 'bad.json',
      line: 1,
      column: expect.any(Number),
      severity: 'error',
      path: 'methodConfig[0].retryPolicy.maxAttempts',
      message: expect.any(String),
      rule: expect.any(String),
    });
  });

  it.each([
    ['a valid config', 'good.json', { code: 0, out: '' }],
    ['one with a warning', 'odd.json', { code: 0, out: expect.stringContaining('warning') }],
    ['one with a warning, --strict', '--strict odd.json', { code: 1 }],
    ['a file that is not there', 'none.json', { code: 2, out: '' }],
    ['no file', '', { code: 2, out: '' }],
    ['a valid config with an unknown flag', '--jsno good.json', { code: 2, out: '' }],
  ] as const)('check of %s', async (_what, args, end) => {
    expect(await ran(`check ${args}`.trim().split(' '), { files })).toMatchObject(end);
  });
});

describe('the output', () => {
  it('holds no metadata value, whatever the level and however a call ends', async () => {
    const backend = await startRawBackend();
    const program = await serve(['--backend', `b1=${backend.address}`, '--access-log', 'all', '--log-level', 'trace']);
    const client = await connectRawClient(await program.port());
    const secret = 's3cr3t';
    const headers = [
      ['authorization', `Bearer ${secret}`],
      ['x-key-bin', secret],
      ['hedgerow-session', secret],
      ['user-agent', secret],
    ] as const;
    for (const code of [0, 14, 5]) {
      backend.behave((stream) => {
        stream.sendHeaders([['x-answer', secret]]);
        stream.trailers(code, [
          ['grpc-message', 'plain words'],
          ['x-trailer', secret],
          ['grpc-status-details-bin', secret],
        ]);
      });
      expect((await client.call('/a.B/C', { headers, authority: secret, messages: [secret] }).done()).status).toBe(
        code,
      );
    }
    backend.behave((stream) => stream.reset(2));
    expect((await client.call('/a.B/C', { headers }).done()).status).toBe(13);
    expect((await client.call('/a.B/C', { headers: [...headers, ['grpc-timeout', secret]] }).done()).status).toBe(13);
    await client.close();
    program.signal('SIGTERM');
    expect(await program.exited()).toBe(0);
    await backend.close();
    expect(program.lines.filter(({ msg }) => msg === 'call')).toHaveLength(5);
    expect(program.out).toContain('plain words');
    expect(program.out + program.err).not.toContain(secret);
  });

  it('a reader of stdout that goes away does not end the proxy', async () => {
    const backend = await startRawBackend();
    const program = await serve(['--backend', `b1=${backend.address}`, '--access-log', 'all']);
    const port = await program.port();
    program.closeStdout();
    const client = await connectRawClient(port);
    for (let i = 0; i < 3; i += 1) expect((await client.call('/a.B/C').done()).status).toBe(0);
    await client.close();
    await backend.close();
    expect(program.err).toBe('');
    program.signal('SIGTERM');
    expect(await program.exited()).toBe(0);
    expect(program.err).toBe('');
  });
});

/** The one line of `text`. */
function oneLine(text: string): string {
  expect(text).toMatch(/^[^\n]+\n$/);
  return text.trimEnd();
}
