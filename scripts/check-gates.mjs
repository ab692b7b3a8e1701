/**
 * Negative controls: each gate must pass on this tree and fail on a copy in which one fault was planted. A gate that cannot
 * fail guards nothing. `node scripts/check-gates.mjs`
 */
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const root = process.cwd();
const copy = mkdtempSync(path.join(os.tmpdir(), 'hedgerow-gates-'));
process.on('exit', () => rmSync(copy, { recursive: true, force: true }));

const parts = ['src', 'test', 'scripts', 'bench', 'docs', 'package.json'];
const tools = [
  'tsconfig.json',
  'tsconfig.build.json',
  'tsconfig.dashboard.json',
  'biome.json',
  '.dependency-cruiser.cjs',
  'knip.json',
  'vitest.config.ts',
  'vitest.dashboard.config.ts',
  'vitest.interop.config.ts',
  'vitest.mutation.config.ts',
  '.gitignore',
  'stryker.config.json',
];
for (const part of [...parts, ...tools]) cpSync(path.join(root, part), path.join(copy, part), { recursive: true });
symlinkSync(path.join(root, 'node_modules'), path.join(copy, 'node_modules'));
// Biome reads .gitignore, for which it wants a repository.
spawnSync('git', ['init', '-q'], { cwd: copy });

const npx = (/** @type {string[]} */ ...args) => /** @type {const} */ (['npx', ['--no-install', ...args]]);
const biome = npx('biome', 'check', '--error-on-warnings', 'src');
const layers = npx('depcruise', 'src', '--output-type', 'err');
const types = npx('tsc', '-p', 'tsconfig.json');
const browserTypes = npx('tsc', '-p', 'tsconfig.dashboard.json');
const unused = npx('knip');
const files = /** @type {const} */ (['node', ['scripts/check-files.mjs']]);
const catalogue = /** @type {const} */ (['node', ['scripts/check-catalogue.mjs', 'report.json']]);

const ids = [...readFileSync(path.join(copy, 'docs/semantics.md'), 'utf8').matchAll(/^\| ([A-Z]+-\d+) \|/gm)].map(
  ([, id]) => id,
);
const passed = ids.map((id) => ({ ancestorTitles: [], title: `${id}: holds`, status: 'passed' }));
const report = (/** @type {object[]} */ tests) => JSON.stringify({ testResults: [{ assertionResults: tests }] });
writeFileSync(path.join(copy, 'report.json'), report(passed));

/**
 * @typedef {object} Control
 * @property {string} gate
 * @property {readonly [string, readonly string[]]} run
 * @property {string} fault what is planted
 * @property {Record<string, string>} plant file → text; appended where the file exists and `append` is set
 * @property {boolean} [append]
 * @property {RegExp} says
 */
/** @type {Control[]} */
const controls = [
  {
    gate: 'format',
    run: biome,
    fault: 'a badly set line',
    plant: { 'src/grpc/planted.ts': 'export   const planted=1\n' },
    says: /format/,
  },
  {
    gate: 'lint',
    run: biome,
    fault: 'Math.random in src/policy',
    plant: { 'src/policy/planted.ts': 'export const planted = Math.random();\n' },
    says: /Randomness is an argument/,
  },
  {
    gate: 'lint',
    run: biome,
    fault: 'Date in src/replay',
    plant: { 'src/replay/planted.ts': 'export const planted = Date.now();\n' },
    says: /noRestrictedGlobals/,
  },
  {
    gate: 'lint',
    run: biome,
    fault: 'node:fs in src/grpc',
    plant: {
      'src/grpc/planted.ts': "import { existsSync } from 'node:fs';\n\nexport const planted = existsSync('.');\n",
    },
    says: /noRestrictedImports/,
  },
  {
    gate: 'lint',
    run: biome,
    fault: 'random taken out of Math',
    plant: { 'src/policy/planted.ts': 'const { random } = Math;\n\nexport const planted = random();\n' },
    says: /Randomness is an argument/,
  },
  {
    gate: 'lint',
    run: biome,
    fault: 'Date by way of globalThis',
    plant: { 'src/policy/planted.ts': 'export const planted = globalThis.Date.now();\n' },
    says: /noRestrictedGlobals/,
  },
  {
    gate: 'lint',
    run: biome,
    fault: 'setTimeout in the wire',
    plant: { 'src/http2/planted.ts': 'export const planted = setTimeout(() => 1, 1);\n' },
    says: /noRestrictedGlobals/,
  },
  {
    gate: 'lint',
    run: biome,
    fault: 'node:process outside main.ts',
    plant: { 'src/proxy/planted.ts': "import { env } from 'node:process';\n\nexport const planted = env;\n" },
    says: /noRestrictedImports/,
  },
  {
    gate: 'lint',
    run: biome,
    fault: 'console in src',
    plant: { 'src/proxy/planted.ts': "console.log('planted');\n" },
    says: /noConsole/,
  },
  {
    gate: 'lint',
    run: biome,
    fault: 'any',
    plant: { 'src/grpc/planted.ts': 'export const planted: any = 1;\n' },
    says: /noExplicitAny/,
  },
  {
    gate: 'lint',
    run: biome,
    fault: 'process outside main.ts',
    plant: { 'src/proxy/planted.ts': 'export const planted = process.pid;\n' },
    says: /noRestrictedGlobals/,
  },
  {
    gate: 'lint',
    run: biome,
    fault: 'a file in camel case',
    plant: { 'src/grpc/plantedFile.ts': 'export const planted = 1;\n' },
    says: /useFilenamingConvention/,
  },
  {
    gate: 'types',
    run: types,
    fault: 'a wrong type',
    plant: { 'src/grpc/planted.ts': "export const planted: number = 'one';\n" },
    says: /TS2322/,
  },
  {
    gate: 'types of the dashboard',
    run: browserTypes,
    fault: 'a wrong type',
    plant: { 'src/dashboard/planted.ts': 'export const planted: string = document.body;\n' },
    says: /TS2322/,
  },
  {
    gate: 'layers',
    run: layers,
    fault: 'the dashboard imports a value where there is a shape alone',
    plant: {
      'src/dashboard/planted.ts': "import * as live from '../admin/live.js';\n\nexport const planted = live;\n",
    },
    says: /live-is-types/,
  },
  {
    gate: 'layers',
    run: layers,
    fault: 'policy imports proxy',
    plant: {
      'src/policy/planted.ts':
        "import { SliceQueue } from '../proxy/slice-queue.js';\n\nexport const planted = new SliceQueue();\n",
    },
    says: /layer-policy/,
  },
  {
    gate: 'layers',
    run: layers,
    fault: 'a type-only import against the arrows',
    plant: {
      'src/grpc/planted.ts': "import type { Plan } from '../policy/types.js';\n\nexport type Planted = Plan;\n",
    },
    says: /layer-grpc/,
  },
  {
    gate: 'layers',
    run: layers,
    fault: 'a cycle',
    plant: {
      'src/grpc/planted.ts': "import { b } from './planted-b.js';\n\nexport const a = (): number => b();\n",
      'src/grpc/planted-b.ts': "import { a } from './planted.js';\n\nexport const b = (): number => a();\n",
    },
    says: /no-cycle/,
  },
  {
    gate: 'layers',
    run: layers,
    fault: 'a node: module in the wire',
    plant: { 'src/http2/planted.ts': "import { Socket } from 'node:net';\n\nexport const planted = new Socket();\n" },
    says: /pure-core/,
  },
  {
    gate: 'unused code',
    run: unused,
    fault: 'an unused export',
    plant: { 'src/grpc/status.ts': '\nexport const planted = 1;\n' },
    append: true,
    says: /planted/,
  },
  {
    gate: 'unused code',
    run: unused,
    fault: 'an unused file',
    plant: { 'src/grpc/planted.ts': 'export const planted = 1;\n' },
    says: /planted\.ts/,
  },
  {
    gate: 'files',
    run: files,
    fault: 'a file called util',
    plant: { 'src/grpc/util.ts': 'export const planted = 1;\n' },
    says: /name it after what it does/,
  },
  {
    gate: 'files',
    run: files,
    fault: 'a file of 500 lines',
    plant: { 'src/grpc/planted.ts': '// line\n'.repeat(500) },
    says: /at most 400/,
  },
  {
    gate: 'catalogue',
    run: catalogue,
    fault: 'an id without a test',
    plant: { 'report.json': report(passed.slice(1)) },
    says: /has no passed test/,
  },
  {
    gate: 'catalogue',
    run: catalogue,
    fault: 'an id whose test failed',
    plant: { 'report.json': report(passed.map((test, i) => (i === 0 ? { ...test, status: 'failed' } : test))) },
    says: /has no passed test/,
  },
  {
    gate: 'catalogue',
    run: catalogue,
    fault: 'a test of an id that is not there',
    plant: { 'report.json': report([...passed, { ancestorTitles: [], title: 'SM-999: holds', status: 'passed' }]) },
    says: /names SM-999/,
  },
  {
    gate: 'catalogue',
    run: catalogue,
    fault: 'a family misspelt',
    plant: { 'report.json': report([...passed, { ancestorTitles: [], title: 'MS-01: holds', status: 'passed' }]) },
    says: /names MS-01, of a family that nobody knows/,
  },
  {
    gate: 'catalogue',
    run: catalogue,
    fault: 'an id without its colon',
    plant: { 'report.json': report([...passed, { ancestorTitles: [], title: 'SM-01 holds', status: 'passed' }]) },
    says: /write the id and a colon/,
  },
];

/** @param {readonly [string, readonly string[]]} run */
function runGate([command, args]) {
  const { status, stdout, stderr } = spawnSync(command, [...args], { cwd: copy, encoding: 'utf8' });
  return { status, output: `${stdout}${stderr}` };
}

let failures = 0;
/** @param {string} what @param {boolean} good @param {string} output */
function verdict(what, good, output) {
  process.stdout.write(`${good ? 'ok  ' : 'FAIL'} ${what}\n`);
  if (good) return;
  failures += 1;
  process.stdout.write(`${output.slice(0, 2000)}\n`);
}

for (const [gate, run] of new Map(controls.map(({ gate, run }) => [gate, run]))) {
  const { status, output } = runGate(run);
  verdict(`${gate}: passes on the tree as it is`, status === 0, output);
  if (gate === 'layers') verdict('layers: cruised some modules', /\((\d{2,}) modules/.test(output), output);
}
for (const { gate, run, fault, plant, append, says } of controls) {
  const before = new Map();
  for (const [file, text] of Object.entries(plant)) {
    const at = path.join(copy, file);
    mkdirSync(path.dirname(at), { recursive: true });
    try {
      before.set(at, readFileSync(at));
    } catch {
      before.set(at, null);
    }
    if (append) appendFileSync(at, text);
    else writeFileSync(at, text);
  }
  const { status, output } = runGate(run);
  verdict(`${gate}: fails on ${fault}`, status !== 0 && says.test(output), output);
  for (const [at, bytes] of before) {
    if (bytes === null) rmSync(at);
    else writeFileSync(at, bytes);
  }
}
process.stdout.write(`${controls.length} planted faults, ${failures} gates that did not hold\n`);
process.exitCode = failures === 0 ? 0 : 1;
