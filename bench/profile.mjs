/**
 * `npm run bench:profile`: a flame graph of the proxy's process under load, and where its time went by itself.
 *
 *   --seconds S (5)  --headers same|traceparent|authorization  --bytes N (100, of a request's message)
 *   --backends N (1)  --connections N (4)  --streams N (25, on each)
 *
 * Writes bench/out/profile.svg, and bench/out/profile.cpuprofile, which browsers' developer tools open.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { contenders } from './contenders.mjs';
import { flameGraph, frameTree, hottest, withoutStart } from './figures/flame.mjs';
import { figure, markdown } from './figures/table.mjs';
import { scratch } from './stage/processes.mjs';
import { closedLoop, startBackend, startProxy } from './stage/stage.mjs';

const out = fileURLToPath(new URL('./out', import.meta.url));
/** Lines of the list. */
const listed = 25;

async function main() {
  const { values: options } = parseArgs({
    options: {
      seconds: { type: 'string', default: '5' },
      headers: { type: 'string', default: 'same' },
      bytes: { type: 'string', default: '100' },
      backends: { type: 'string', default: '1' },
      connections: { type: 'string', default: '4' },
      streams: { type: 'string', default: '25' },
    },
  });
  const seconds = Number(options.seconds);
  if (!(seconds > 0)) throw new Error(`--seconds takes a number above 0, not ${options.seconds}`);
  const [hedgerow] = contenders();
  if (hedgerow === undefined || hedgerow.version === null) throw new Error('hedgerow is not built: npm run build');
  const backend = await startBackend(['--ports', options.backends]);
  const node = ['--cpu-prof', '--cpu-prof-interval', '250', '--cpu-prof-dir', scratch];
  const proxy = await startProxy(hedgerow, backend.ports, { node, flags: ['--max-concurrent-streams', '10000'] });
  const what = { headers: options.headers, bytes: Number(options.bytes) };
  const { cpu, rate } = await closedLoop(
    proxy,
    { connections: Number(options.connections), streams: Number(options.streams), seconds },
    what,
  );
  // It writes the profile as it ends.
  await proxy.process.end('SIGTERM', 60_000);
  await backend.process.end();
  const [file] = readdirSync(scratch).filter((name) => name.endsWith('.cpuprofile'));
  if (file === undefined) throw new Error('the proxy wrote no profile');
  mkdirSync(out, { recursive: true });
  const kept = path.join(out, 'profile.cpuprofile');
  writeFileSync(kept, readFileSync(path.join(scratch, file)));
  const tree = frameTree(withoutStart(JSON.parse(readFileSync(kept, 'utf8')), proxy.readyAfter * 1000));
  const load = `${figure(rate)} calls/s, ${figure(cpu)} µs of CPU a call while profiled`;
  const picture = path.join(out, 'profile.svg');
  writeFileSync(picture, flameGraph(tree, `hedgerow ${hedgerow.version}: ${load}`));
  const hot = hottest(tree).slice(0, listed);
  process.stdout.write(`${load}\n\n`);
  process.stdout.write(
    `${markdown(
      ['share', 'function'],
      hot.map(({ name, share }) => [`${(share * 100).toFixed(1)} %`, name]),
    )}\n\n`,
  );
  process.stdout.write(`${path.relative(process.cwd(), picture)}\n`);
}

main().then(
  () => process.exit(0),
  (error) => {
    process.stderr.write(`bench:profile: ${error instanceof Error ? error.message : error}\n`);
    process.exit(1);
  },
);
