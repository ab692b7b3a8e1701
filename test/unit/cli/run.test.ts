import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type Io, type Runners, run } from '../../../src/cli/run.js';
import { flagOf, settingKeys } from '../../../src/config/settings.js';

const files: Readonly<Record<string, string>> = {
  'good.json': '{"methodConfig": []}',
  'warned.json': '{"methodConfg": []}',
  'bad.json': '{\n  "methodConfig": 3\n}',
  'settings.json': '{"backend": ["b1=127.0.0.1:1"], "queueLimit": 7}',
};

interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
  readonly served: unknown[];
}

async function hedgerow(argv: readonly string[], io: Partial<Io> = {}): Promise<Outcome> {
  const out: string[] = [];
  const err: string[] = [];
  const served: unknown[] = [];
  const runners: Runners = {
    serve: async (settings, _origins, notes) => {
      served.push({ settings, notes });
      return 0;
    },
    demo: async (options) => {
      served.push(options);
      return 7;
    },
    top: async (options) => {
      served.push(options);
      return 8;
    },
  };
  const code = await run(
    argv,
    {
      env: {},
      readFile: async (path) => {
        const text = files[path];
        if (text === undefined) throw Object.assign(new Error('ENOENT: no such file\nand more'), { code: 'ENOENT' });
        return text;
      },
      stdout: (text) => out.push(text),
      stderr: (text) => err.push(text),
      columns: 80,
      localAddresses: [],
      version: '1.2.3',
      ...io,
    },
    runners,
  );
  return { code, out: out.join(''), err: err.join(''), served };
}

describe('the command', () => {
  it('no arguments: the help, and exit 2', async () => {
    const { code, out, err } = await hedgerow([]);
    expect([code, out]).toEqual([2, '']);
    expect(err).toContain('Usage: hedgerow COMMAND');
  });

  it.each([
    [['chek'], 'hedgerow: unknown command "chek"; did you mean check?\n'],
    [['zzzzzzzz'], 'hedgerow: unknown command "zzzzzzzz"; commands are serve, top, check, explain, simulate, demo\n'],
    [['--verson'], 'hedgerow: unknown flag "--verson"; did you mean --version?\n'],
    [['help', 'chek'], 'hedgerow: unknown command "chek"; did you mean check?\n'],
  ])('%j is one line on stderr, and exit 2', async (argv, line) => {
    expect(await hedgerow(argv)).toMatchObject({ code: 2, out: '', err: line });
  });

  it('--version', async () => {
    expect(await hedgerow(['--version'])).toMatchObject({ code: 0, out: 'hedgerow 1.2.3\n', err: '' });
  });

  it.each([
    [['--help']],
    [['-h']],
    [['help']],
    [['serve', '--help']],
    [['--help', 'check']],
    [['demo', '-h']],
    [['check', '--zzz', '--help']],
  ])('%j prints help and ends well', async (argv) => {
    const { code, out, err } = await hedgerow(argv);
    expect([code, err]).toEqual([0, '']);
    expect(out).toMatch(/^Usage: hedgerow /m);
  });

  it('the help of serve shows every flag, with its default, within the terminal', async () => {
    const { out } = await hedgerow(['serve', '--help']);
    for (const key of settingKeys) expect(out).toMatch(new RegExp(`^  ${flagOf(key)} `, 'm'));
    expect(out.replace(/\s+/g, ' ')).toContain('[30s; 0s to 24h]');
    const wide = out.split('\n').filter((line) => line.length > 80 && !line.startsWith('  HEDGEROW_'));
    expect(wide).toEqual([]);
  });
});

describe('check', () => {
  it('a valid file: no findings, exit 0', async () => {
    expect(await hedgerow(['check', 'good.json'])).toMatchObject({
      code: 0,
      out: '',
      err: 'good.json: valid (0 errors, 0 warnings)\n',
    });
  });

  it('an invalid file: each finding on a line, exit 1', async () => {
    const { code, out, err } = await hedgerow(['check', 'bad.json']);
    expect(code).toBe(1);
    expect(out).toBe('bad.json:2:19: error: methodConfig: must be an array of entries; got 3 [wrong-type]\n');
    expect(err).toBe('bad.json: invalid (1 error, 0 warnings)\n');
  });

  it('warnings pass, and fail under --strict', async () => {
    expect((await hedgerow(['check', 'warned.json'])).code).toBe(0);
    expect(await hedgerow(['check', '--strict', 'warned.json'])).toMatchObject({
      code: 1,
      err: 'warned.json: valid, but --strict lets no warning pass (0 errors, 1 warning)\n',
    });
  });

  it("--json prints the contract's array, an empty one too, and nothing else", async () => {
    const { code, out, err } = await hedgerow(['check', 'bad.json', '--json']);
    expect([code, err]).toEqual([1, '']);
    expect(JSON.parse(out)).toEqual([
      {
        file: 'bad.json',
        line: 2,
        column: 19,
        severity: 'error',
        path: 'methodConfig',
        message: 'must be an array of entries; got 3',
        rule: 'wrong-type',
      },
    ]);
    expect(JSON.parse((await hedgerow(['check', 'good.json', '--json'])).out)).toEqual([]);
  });

  it('--max-attempts-limit is the cap that is checked against', async () => {
    const text = '{"methodConfig":[{"name":[{}],"hedgingPolicy":{"maxAttempts":8}}]}';
    const readFile = async () => text;
    expect((await hedgerow(['check', 'x'], { readFile })).out).toContain('[attempts-over-cap]');
    expect((await hedgerow(['check', 'x', '--max-attempts-limit', '8'], { readFile })).out).not.toContain(
      '[attempts-over-cap]',
    );
  });

  it.each([
    [['check'], 'hedgerow check: no file; write hedgerow check FILE\n'],
    [['check', 'a', 'b'], 'hedgerow check: one file at a time; "b" is a second one\n'],
    [['check', 'a', '--strct'], 'hedgerow check: unknown flag --strct; did you mean --strict?\n'],
    [['check', 'a', '--json=1'], 'hedgerow check: --json takes no value; got "1"\n'],
    [['check', 'nowhere.json'], 'hedgerow check: nowhere.json: no such file\n'],
    [
      ['check', 'a', '--max-attempts-limit', '0'],
      'hedgerow check: --max-attempts-limit "0": must be an integer from 1 to 1000\n',
    ],
  ])('%j is wrong usage: one line, exit 2', async (argv, line) => {
    expect(await hedgerow(argv)).toMatchObject({ code: 2, out: '', err: line });
  });

  it('a file that cannot be read for a reason of its own is one line', async () => {
    const readFile = () => Promise.reject(new Error('weird\nthings'));
    expect(await hedgerow(['check', 'x'], { readFile })).toMatchObject({
      code: 2,
      err: 'hedgerow check: x: cannot be read: weird\n',
    });
  });
});

describe('serve and demo', () => {
  it('serve is run with the settings, of the file too', async () => {
    const { code, served } = await hedgerow(['serve', '--config', 'settings.json']);
    expect(code).toBe(0);
    expect(served).toMatchObject([{ settings: { queueLimit: 7, backend: [{ name: 'b1' }] }, notes: [] }]);
  });

  it.each([
    [
      ['serve'],
      'hedgerow serve: no backend: give at least one, like --backend b1=127.0.0.1:50052, or --endpoints FILE, or --control ADDR for backends that register\n',
    ],
    [['serve', '--config', 'nowhere.json'], 'hedgerow serve: nowhere.json: no such file\n'],
    [['serve', '--config', 'bad.json'], 'hedgerow serve: bad.json:2:3: unknown setting "methodConfig"\n'],
    [['demo', '--calls', '0'], 'hedgerow demo: --calls "0": must be an integer from 1 to 1000000\n'],
    [['demo', '--admin', 'nowhere'], expect.stringMatching(/^hedgerow demo: --admin "nowhere": [^\n]+\n$/)],
    [['demo', 'x'], 'hedgerow demo: unexpected argument "x"\n'],
  ])('%j runs nothing: one line, exit 2', async (argv, line) => {
    expect(await hedgerow(argv)).toEqual({ code: 2, out: '', err: line, served: [] });
  });

  it('demo is run with its options, and its exit code is ours', async () => {
    expect(await hedgerow(['demo', '--calls', '12'])).toMatchObject({
      code: 7,
      served: [{ calls: 12, admin: null }],
    });
    expect(await hedgerow(['demo'])).toMatchObject({ served: [{ calls: null, admin: null }] });
    for (const admin of ['off', '127.0.0.1:0', '[::1]:9901']) {
      expect(await hedgerow(['demo', '--admin', admin])).toMatchObject({ served: [{ calls: null, admin }] });
    }
  });
});

describe('service-config.json, the example', () => {
  it('passes the strictest check', async () => {
    const readFile = async () => readFileSync(new URL('../../../service-config.json', import.meta.url), 'utf8');
    expect(await hedgerow(['check', '--strict', 'service-config.json'], { readFile })).toMatchObject({
      code: 0,
      out: '',
    });
  });
});
