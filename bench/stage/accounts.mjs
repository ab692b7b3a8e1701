/** What the operating system's books say of a process. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import os from 'node:os';

/** Clock ticks a second in /proc/PID/stat: 100 on every Linux that Node runs on. */
const tick = 100;

/** CPU seconds that a process has used, user and system, all threads. @param {number} pid */
export function cpuOf(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / tick;
}

/** Resident memory of a process (bytes). @param {number} pid */
export function residentOf(pid) {
  const kib = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kib ?? Number.NaN) * 1024;
}

/** @param {string} command @param {string[]} args @param {RegExp} pattern on what it prints; its first group is the answer */
export function ask(command, args, pattern) {
  try {
    const quoted = [command, ...args].map((word) => `'${word}'`).join(' ');
    // Some print their version on stderr.
    const out = execFileSync('sh', ['-c', `${quoted} 2>&1`], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    return pattern.exec(out)?.[1] ?? null;
  } catch {
    return null;
  }
}

/** h2load's version; null: it is not installed. */
export const h2loadVersion = ask('h2load', ['--version'], /nghttp2\/([\d.]+)/);

/**
 * The proxy gets a core of its own where there are two and `taskset` can say so, and what loads it gets the others: its
 * calls/s are then those of one core, whatever threads it has.
 */
export const cores =
  os.cpus().length >= 2 && ask('taskset', ['--version'], /(.)/) !== null
    ? { proxy: '0', others: `1-${os.cpus().length - 1}` }
    : null;

/** One line about the machine. */
export function machine() {
  const cpus = os.cpus();
  const memory = Math.round(os.totalmem() / 2 ** 30);
  const pinned = cores === null ? 'nothing is pinned to cores' : 'the proxy has core 0 alone, what loads it the others';
  return `${cpus[0]?.model.trim() ?? 'unknown'}, ${cpus.length} cores, ${memory} GiB; ${os.type()} ${os.release()}; ${pinned}`;
}
