import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdtemp, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../../', import.meta.url));
/** Changes when what is around dist/ does. */
const layout = '4';
const prefix = 'hedgerow-built-';
/** Builds of earlier sources are swept after this time (ms). */
const keptFor = 60 * 60 * 1000;

let made: Promise<string> | null = null;

/**
 * The path of main.js, built from the sources as they are now. Test files run in processes of their own: the directory is
 * named by the sources' content, so that whoever comes first builds for all, and nobody runs an old program.
 */
export function built(): Promise<string> {
  made ??= build();
  return made;
}

async function build(): Promise<string> {
  const home = path.join(os.tmpdir(), `${prefix}${await fingerprint()}`);
  const main = path.join(home, 'dist', 'main.js');
  if (existsSync(main)) return main;
  await sweep();
  const draft = await mkdtemp(path.join(os.tmpdir(), `${prefix}draft-`));
  const tsc = path.join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  // Types have a gate of their own.
  const flags = ['-p', path.join(root, 'tsconfig.build.json'), '--noCheck', '--outDir', path.join(draft, 'dist')];
  await promisify(execFile)(process.execPath, [tsc, ...flags]);
  await promisify(execFile)(process.execPath, [
    path.join(root, 'scripts', 'finish-build.mjs'),
    path.join(draft, 'dist'),
  ]);
  await copyFile(path.join(root, 'package.json'), path.join(draft, 'package.json'));
  for (const name of ['node_modules', 'protos', 'service-config.json'])
    await symlink(path.join(root, name), path.join(draft, name));
  try {
    await rename(draft, home);
  } catch {
    // Another process was first with the same sources.
    await rm(draft, { recursive: true, force: true });
  }
  if (!existsSync(main)) throw new Error(`the build made no ${main}`);
  return main;
}

async function fingerprint(): Promise<string> {
  const hash = createHash('sha256').update(root).update(layout);
  const all = await readdir(path.join(root, 'src'), { recursive: true });
  const sources = all.filter((name) => /\.(ts|html|css|svg)$/.test(name));
  const others = ['package.json', 'tsconfig.json', 'tsconfig.build.json', path.join('scripts', 'finish-build.mjs')];
  const document = path.join('docs', 'troubleshooting.md');
  if (existsSync(path.join(root, document))) others.push(document);
  for (const name of [...others, ...sources.sort().map(inSrc)]) {
    hash.update(`${name}\n`).update(await readFile(path.join(root, name)));
  }
  return hash.digest('hex').slice(0, 16);
}

function inSrc(name: string): string {
  return path.join('src', name);
}

async function sweep(): Promise<void> {
  for (const name of await readdir(os.tmpdir())) {
    if (!name.startsWith(prefix)) continue;
    const old = path.join(os.tmpdir(), name);
    const { mtimeMs } = await stat(old).catch(() => ({ mtimeMs: Date.now() }));
    if (Date.now() - mtimeMs > keptFor) await rm(old, { recursive: true, force: true });
  }
}
