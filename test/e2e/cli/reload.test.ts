import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { hedgerow, type LogLine, type Program, type ProgramOptions, serve } from '../../support/program.js';
import {
  behave,
  connectRawClient,
  type RawBackend,
  type RawCall,
  type RawClient,
  startRawBackend,
} from '../../support/raw-peer.js';
import { retry } from '../../support/rig.js';

const file = 'service-config.json';
const noPolicy = '{}';
const thrice = JSON.stringify(retry({ attempts: 3 }));
const twice = JSON.stringify(retry({ attempts: 2 }));
/** Its second entry, in line 5, is broken; its first would be other than what was in force. */
const broken = `{
  "methodConfig": [
    { "name": [{ "service": "a.B" }] },
    { "name": [{}],
      "retryPolicy": { "maxAttempts": 1, "initialBackoff": "1s", "maxBackoff": "1s", "backoffMultiplier": 1,
        "retryableStatusCodes": ["UNAVAILABLE"] } }
  ]
}`;

let ends: (() => void | Promise<void>)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  ends = [];
});

interface Running {
  readonly program: Program;
  readonly backend: RawBackend;
  readonly client: RawClient;
}

/** The program with one backend that fails every call UNAVAILABLE, and a client. */
async function start(options: ProgramOptions, flags: readonly string[] = []): Promise<Running> {
  const backend = await startRawBackend({ onStream: behave.fail(14) });
  ends.push(() => backend.close());
  const program = await serve(['--backend', `b=${backend.address}`, ...flags], options);
  await program.line(({ event }) => event === 'connected');
  const client = await connectRawClient(await program.port());
  ends.push(() => client.kill());
  return { program, backend, client };
}

/** How many attempts a new call makes, and why no more. */
async function attempts({ backend, client }: Running): Promise<readonly [number, string | undefined]> {
  const made = (): number => backend.streams.filter((stream) => stream.header(':path') === '/a.B/C').length;
  const before = made();
  const call = await client.call('/a.B/C', { messages: ['1'] }).done();
  return [made() - before, call.trailer('hedgerow-stop-reason')];
}

/** Puts a file in the place of another in one step: no half of it can be read. */
async function replace(place: string, text: string): Promise<void> {
  const draft = path.join(path.dirname(place), `.${path.basename(place)}.swp`);
  await writeFile(draft, text);
  await rename(draft, place);
}

/** A directory that goes with the test. */
async function scratch(): Promise<string> {
  const directory = await mkdtemp(path.join(os.tmpdir(), 'hedgerow-reload-'));
  ends.push(() => rm(directory, { recursive: true }));
  return directory;
}

function versionOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}

/** The line that tells that this text is in force. */
function applied(program: Program, text: string): Promise<LogLine> {
  return program.line(
    ({ msg, config }) => String(msg).includes(' in force, ') && Object(config).version === versionOf(text),
  );
}

function said(program: Program, words: RegExp): LogLine[] {
  return program.lines.filter(({ msg }) => words.test(String(msg)));
}

describe('a service config that changes', () => {
  it('governs the calls that begin after it, with one line that tells the version and what changed', async () => {
    const running = await start({ files: { [file]: thrice } });
    const { program } = running;
    expect(await attempts(running)).toEqual([3, 'attempts_exhausted']);
    await writeFile(path.join(program.directory, file), twice);
    expect(await applied(program, twice)).toMatchObject({
      level: 30,
      config: { path: `./${file}`, version: versionOf(twice), methods: 1 },
      previous: versionOf(thrice),
      changes: [expect.stringMatching(/maxAttempts 3 → 2/)],
      msg: `service config ./${file}: version ${versionOf(twice)} in force, ${versionOf(thrice)} before; 1 change`,
    });
    expect(await attempts(running)).toEqual([2, 'attempts_exhausted']);
  });

  it('may be another file that is renamed over it, again and again', async () => {
    const running = await start({ files: { 'sc.json': noPolicy } }, ['--service-config', 'sc.json']);
    const { program } = running;
    for (const [text, count] of [
      [thrice, 3],
      [twice, 2],
    ] as const) {
      await replace(path.join(program.directory, 'sc.json'), text);
      await applied(program, text);
      expect((await attempts(running))[0]).toBe(count);
    }
  });

  it('may be reached by symbolic links that are swapped, as Kubernetes does with a ConfigMap', async () => {
    const volume = path.join(await scratch(), 'volume');
    for (const [name, text] of [
      ['..1', thrice],
      ['..2', twice],
    ] as const) {
      await mkdir(path.join(volume, name), { recursive: true });
      await writeFile(path.join(volume, name, 'sc.json'), text);
    }
    await symlink('..1', path.join(volume, '..data'));
    await symlink(path.join('..data', 'sc.json'), path.join(volume, 'sc.json'));
    const running = await start({}, ['--service-config', path.join(volume, 'sc.json')]);
    expect((await attempts(running))[0]).toBe(3);
    await symlink('..2', path.join(volume, '..data_tmp'));
    await rename(path.join(volume, '..data_tmp'), path.join(volume, '..data'));
    await applied(running.program, twice);
    expect((await attempts(running))[0]).toBe(2);
  });

  it('that nobody named and that was not there is taken up when it appears', async () => {
    const running = await start({});
    const { program } = running;
    expect(await program.line('ready')).toMatchObject({ config: { path: null } });
    expect(await attempts(running)).toEqual([1, 'no_policy']);
    await replace(path.join(program.directory, file), thrice);
    expect(await applied(program, thrice)).toMatchObject({ config: { path: `./${file}` }, previous: null });
    expect(await attempts(running)).toEqual([3, 'attempts_exhausted']);
    // Its only backend fails, and is parked for it.
    expect(program.lines.filter(({ level, event }) => Number(level) > 30 && event !== 'parked')).toEqual([]);
  });
});

describe('what is no service config', () => {
  it('CFG-08: leaves the last good one in force for every method: one warning with the place of the first error', async () => {
    const running = await start({ files: { [file]: thrice } });
    const { program } = running;
    const place = path.join(program.directory, file);
    await replace(place, broken);
    const line = await program.line(({ msg }) => /rejected/.test(String(msg)));
    expect(line).toMatchObject({ level: 40, rejected: versionOf(broken), errors: 1 });
    expect(line['msg']).toMatch(
      new RegExp(
        `^service config rejected, version ${versionOf(thrice)} stays in force: ` +
          `\\./${file}:5:39: error: methodConfig\\[1\\]\\.retryPolicy\\.maxAttempts: .* \\[out-of-range\\]$`,
      ),
    );
    expect(await attempts(running)).toEqual([3, 'attempts_exhausted']);
    // The same text once more is no news; a good one is.
    await replace(place, broken);
    await replace(place, twice);
    await applied(program, twice);
    expect(said(program, /rejected/)).toHaveLength(1);
    expect(await attempts(running)).toEqual([2, 'attempts_exhausted']);
  });

  it('a directory that is gone: the last good one stays, until the file is back', async () => {
    const home = path.join(await scratch(), 'etc');
    await mkdir(home);
    await writeFile(path.join(home, 'sc.json'), thrice);
    const running = await start({}, ['--service-config', path.join(home, 'sc.json')]);
    const { program } = running;
    await rename(home, `${home}.away`);
    expect(await program.line(({ msg }) => /cannot be read/.test(String(msg)))).toMatchObject({
      level: 40,
      msg: expect.stringMatching(/stays in force: .*sc\.json: no such file$/),
    });
    expect(await attempts(running)).toEqual([3, 'attempts_exhausted']);
    await writeFile(path.join(`${home}.away`, 'sc.json'), twice);
    await rename(`${home}.away`, home);
    await applied(program, twice);
    expect(said(program, /cannot be read/)).toHaveLength(1);
    expect(await attempts(running)).toEqual([2, 'attempts_exhausted']);
  });

  it('CFG-09: does not let a start happen, named or not: exit code 1 and the first error with its place', async () => {
    for (const flags of [[], ['--service-config', file]]) {
      const args = ['serve', '--listen', '127.0.0.1:0', '--admin', 'off', '--backend', 'b=127.0.0.1:9', ...flags];
      const program = await hedgerow(args, { files: { [file]: broken } });
      expect(await program.exited()).toBe(1);
      expect(program.out).toBe('');
      expect(program.err).toMatch(
        /^hedgerow serve: \S*service-config\.json:5:39: error: methodConfig\[1\]\.retryPolicy\.maxAttempts: [^\n]*\n$/,
      );
    }
  });
});

describe('SIGHUP', () => {
  it('reads at once, tells what it found, and ends nothing', async () => {
    const running = await start({ files: { [file]: thrice } });
    const { program } = running;
    program.signal('SIGHUP');
    expect(await program.line(({ msg }) => /unchanged/.test(String(msg)))).toMatchObject({
      level: 30,
      msg: `service config ./${file}: unchanged, version ${versionOf(thrice)}`,
    });
    await writeFile(path.join(program.directory, file), broken);
    program.signal('SIGHUP');
    await program.line(({ msg, rejected }) => /rejected/.test(String(msg)) && rejected === versionOf(broken));
    await writeFile(path.join(program.directory, file), twice);
    program.signal('SIGHUP');
    await applied(program, twice);
    expect(await attempts(running)).toEqual([2, 'attempts_exhausted']);
  });

  it('reads no pipe a second time: its text was given once', async () => {
    const pipe = path.join(await scratch(), 'pipe');
    await promisify(execFile)('mkfifo', [pipe]);
    const [running] = await Promise.all([start({}, ['--service-config', pipe]), writeFile(pipe, thrice)]);
    const { program } = running;
    program.signal('SIGHUP');
    expect(await program.line(({ level }) => level === 40)).toMatchObject({
      msg: expect.stringMatching(/stays in force: .*\/pipe: cannot be read: not a regular file: it is read once/),
    });
    expect(await attempts(running)).toEqual([3, 'attempts_exhausted']);
    program.signal('SIGTERM');
    expect(await program.exited()).toBe(0);
    expect(said(program, /cannot be read/)).toHaveLength(1);
  });

  it('in a drain reads nothing, and says so', async () => {
    const running = await start({ files: { [file]: thrice } });
    const { program, backend, client } = running;
    backend.behave(behave.silent);
    const call = client.call('/a.B/C', { messages: ['1'] });
    const attempt = await backend.nextStream();
    program.signal('SIGTERM');
    await client.whenGoaway(0);
    await writeFile(path.join(program.directory, file), noPolicy);
    program.signal('SIGHUP');
    await program.line(({ msg }) => /not read again, the proxy is draining$/.test(String(msg)));
    backend.behave(behave.ok('late'));
    attempt.trailersOnly(14);
    await call.done();
    expect([call.status, call.trailer('hedgerow-retries')]).toEqual([0, '1']);
    expect(await program.exited()).toBe(0);
    expect(said(program, / in force, /)).toEqual([]);
  });
});

describe('calls in flight', () => {
  it('CFG-10: keep the policy that they began under, in an attempt and in a backoff; later ones get the new', async () => {
    const slow = JSON.stringify(retry({ attempts: 2, backoff: '1s' }));
    const running = await start({ files: { [file]: slow } });
    const { program, backend, client } = running;
    const seen = new Set<string | undefined>();
    backend.behave((stream) => {
      const called = stream.header(':path');
      const again = seen.has(called);
      seen.add(called);
      if (called === '/a.B/C' || (called === '/a.B/Waiting' && !again)) stream.trailersOnly(14);
      else if (again) return stream.answer(['done']);
      return undefined;
    });
    const waiting = client.call('/a.B/Waiting', { messages: ['1'] });
    const asking = client.call('/a.B/Asking', { messages: ['2'] });
    const first = [await backend.waitForStream(1), await backend.waitForStream(2)];

    await writeFile(path.join(program.directory, file), noPolicy);
    program.signal('SIGHUP');
    await applied(program, noPolicy);
    expect(await attempts(running)).toEqual([1, 'no_policy']);

    first.find((stream) => stream.header(':path') === '/a.B/Asking')?.trailersOnly(14);
    const outcome = async (call: RawCall): Promise<unknown> => {
      await call.done();
      return [call.status, call.trailer('hedgerow-retries')];
    };
    expect(await Promise.all([waiting, asking].map(outcome))).toEqual([
      [0, '1'],
      [0, '1'],
    ]);
  });
});

describe('the token bucket', () => {
  const throttled = (maxTokens: number, attempts: number): string =>
    JSON.stringify({
      ...Object(retry({ attempts })),
      retryThrottling: { maxTokens, tokenRatio: 0.001 },
    });

  it('THR-17: keeps its tokens where the config leaves it as it is, else scales them: 3 of 4 become 7.5 of 10', async () => {
    const running = await start({ files: { [file]: throttled(4, 2) } });
    const { program, backend, client } = running;
    const reload = async (text: string): Promise<void> => {
      await writeFile(path.join(program.directory, file), text);
      program.signal('SIGHUP');
      await applied(program, text);
    };
    backend.script([behave.fail(14), behave.ok()]);
    expect((await client.call('/a.B/C', { messages: ['1'] }).done()).status).toBe(0);
    await reload(throttled(4, 5));
    await reload(throttled(10, 5));
    // 6.5, 5.5, and 4.5 is under half. A full bucket would permit all five, one that kept 3 none but the first.
    backend.behave(behave.fail(14));
    expect(await attempts(running)).toEqual([3, 'throttled']);
    await reload(throttled(10, 4));
    expect(await attempts(running)).toEqual([1, 'throttled']);
  });

  it('THR-18: throttles nothing once it is taken out of the config, and begins full when it is put back', async () => {
    const running = await start({ files: { [file]: throttled(2, 3) } });
    const { program } = running;
    expect(await attempts(running)).toEqual([1, 'throttled']);
    for (const [text, expected] of [
      [thrice, [3, 'attempts_exhausted']],
      [throttled(8, 3), [3, 'attempts_exhausted']],
    ] as const) {
      await writeFile(path.join(program.directory, file), text);
      program.signal('SIGHUP');
      await applied(program, text);
      expect(await attempts(running)).toEqual(expected);
    }
  });
});
