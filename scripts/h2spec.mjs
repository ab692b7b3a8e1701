/**
 * Runs h2spec against the listener of the built program: every test passes, none is skipped, or the exit code is 1. Once in
 * cleartext, once with its strict tests, once over TLS. h2spec is built from test/h2spec/go.mod, which pins it and all that it
 * uses, into .ci/cache.
 * `node scripts/h2spec.mjs [--program FILE]`
 */
import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values } = parseArgs({ options: { program: { type: 'string', default: path.join(root, 'dist/main.js') } } });
const main = path.resolve(values.program);
const tool = path.join(root, '.ci/cache/h2spec');
const tls = path.join(root, 'test/support/tls');
const secured = ['--tls-cert', path.join(tls, 'localhost.crt'), '--tls-key', path.join(tls, 'localhost.key')];

/**
 * What is run, and how many tests h2spec 2.2.1 has in it: a number that shrinks would hide tests that did not run. None is
 * excepted: see docs/http2.md.
 * @type {readonly { name: string, serve: readonly string[], flags: readonly string[], tests: number }[]}
 */
const runs = [
  { name: 'cleartext', serve: [], flags: [], tests: 145 },
  { name: 'cleartext, strict', serve: [], flags: ['--strict'], tests: 146 },
  { name: 'TLS, strict', serve: secured, flags: ['--strict', '--tls', '--insecure'], tests: 146 },
];

const run = promisify(execFile);

await run('go', ['build', '-mod=readonly', '-trimpath', '-o', tool, 'github.com/summerwind/h2spec/cmd/h2spec'], {
  cwd: path.join(root, 'test/h2spec'),
}).catch((error) => {
  process.stderr.write(`cannot build h2spec from test/h2spec/go.mod: ${error.stderr || error.message}\n`);
  process.exit(1);
});

// A directory with nothing in it, so that no service config is found. No backend answers: h2spec's requests are not gRPC and
// reach none.
const directory = mkdtempSync(path.join(os.tmpdir(), 'hedgerow-h2spec-'));
let failed = 0;
try {
  for (const one of runs) failed += (await passes(one)) ? 0 : 1;
} finally {
  rmSync(directory, { recursive: true, force: true });
}
process.exitCode = failed === 0 ? 0 : 1;

/** @param {typeof runs[number]} one */
async function passes({ name, serve, flags, tests }) {
  const fixed = ['serve', '--listen', '127.0.0.1:0', '--admin', 'off', '--backend', 'none=127.0.0.1:1'];
  const program = spawn(process.execPath, [main, ...fixed, ...serve], {
    cwd: directory,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const gone = new Promise((resolve) => program.once('close', resolve));
  try {
    const port = await listening(program.stdout);
    const args = ['--host', '127.0.0.1', '--port', port, '--timeout', '5', ...flags];
    const { stdout } = await run(tool, args, { maxBuffer: 2 ** 26 }).catch((error) => error);
    const report = String(stdout);
    // Its own count: `145 tests, 145 passed, 0 skipped, 0 failed`.
    const [count = 'no count'] = report.match(/^\d+ tests, .*$/m) ?? [];
    process.stdout.write(`${name}: ${count}\n`);
    if (count === `${tests} tests, ${tests} passed, 0 skipped, 0 failed`) return true;
    process.stdout.write(`wanted: ${tests} tests, all of them passed\n${report}\n`);
    return false;
  } finally {
    program.kill('SIGKILL');
    await gone;
  }
}

/** The port in its ready line. @param {import('node:stream').Readable} stdout @returns {Promise<string>} */
async function listening(stdout) {
  for await (const text of createInterface({ input: stdout })) {
    const line = JSON.parse(text);
    if (line.msg !== 'ready') continue;
    stdout.resume();
    return String(line.listen[0]).split(':').at(-1) ?? '';
  }
  throw new Error('the program ended before it was ready');
}
