/**
 * House rules that no linter knows: no file of src/ over 400 lines but for those named here, none called util, common or
 * helpers. `node scripts/check-files.mjs [ROOT]`.
 */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const root = process.argv[2] ?? '.';
const longest = 400;
/** @type {Readonly<Record<string, string>>} path → why it may be longer */
const exceptions = {};
const badName = /^(util|utils|common|helper|helpers|misc)$/;

/** @param {string} dir @returns {string[]} */
function walk(dir) {
  return readdirSync(path.join(root, dir), { withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? walk(path.join(dir, entry.name)) : [path.join(dir, entry.name)],
  );
}

const problems = [];
const files = walk('src');
for (const file of files) {
  const lines = readFileSync(path.join(root, file), 'utf8').split('\n').length - 1;
  if (lines > longest && exceptions[file] === undefined) problems.push(`${file}: ${lines} lines; at most ${longest}`);
  const parts = file.split(path.sep).map((part) => part.replace(/\..*$/, ''));
  if (parts.some((part) => badName.test(part))) problems.push(`${file}: name it after what it does`);
}
for (const problem of problems) process.stderr.write(`${problem}\n`);
process.stdout.write(`${files.length} files checked, ${problems.length} problems\n`);
process.exitCode = problems.length === 0 && files.length > 0 ? 0 : 1;
