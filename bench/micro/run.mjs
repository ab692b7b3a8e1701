/** `npm run bench:micro`: all micro-benchmarks, each in a process of its own, so that none sees what another compiled. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const names = ['hpack', 'framing', 'call-machine', 'replay-buffer', 'alarms'];
for (const name of names) {
  const file = fileURLToPath(new URL(`./${name}.mjs`, import.meta.url));
  const { status } = spawnSync(process.execPath, [file, ...process.argv.slice(2)], { stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}
