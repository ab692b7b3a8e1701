/** Child processes of a run: started, asked for their port, ended with it whatever ends it. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { cores } from './accounts.mjs';

/** @typedef {'proxy' | 'others'} Place which cores it runs on */

/** Files of a run: configurations, logs, messages. */
export const scratch = mkdtempSync(path.join(os.tmpdir(), 'hedgerow-bench-'));

/** @type {Set<import('node:child_process').ChildProcess>} */
const children = new Set();

function cleanUp() {
  endAll();
  rmSync(scratch, { recursive: true, force: true });
}
/** Ends what a row has left running. */
export function endAll() {
  for (const child of children) child.kill('SIGKILL');
}

process.on('exit', cleanUp);
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
  process.on(signal, () => process.exit(130));

/** A child process and what it prints. */
export class Process {
  #out = '';
  #err = '';
  /** @type {Set<() => void>} */
  #listeners = new Set();
  /** @type {number | null} */
  exitCode = null;
  /** When it was spawned (performance.now). */
  begun = performance.now();

  /** @param {string} command @param {string[]} args @param {Place} place */
  constructor(command, args, place) {
    const all = cores === null ? [command, ...args] : ['taskset', '-c', cores[place], command, ...args];
    const [program = command, ...rest] = all;
    this.child = spawn(program, rest, { stdio: ['ignore', 'pipe', 'pipe', 'pipe'] });
    children.add(this.child);
    const heard = (/** @type {() => void} */ note) => {
      note();
      for (const listener of [...this.#listeners]) listener();
    };
    this.child.stdout?.on('data', (chunk) => heard(() => (this.#out += chunk)));
    // Only its last words are shown.
    this.child.stderr?.on('data', (chunk) => heard(() => (this.#err = (this.#err + chunk).slice(-2000))));
    // What the memory probe writes.
    this.child.stdio[3]?.on('data', (chunk) => heard(() => (this.#out += chunk)));
    const over = (/** @type {number} */ code, /** @type {string} */ words) => {
      children.delete(this.child);
      heard(() => {
        this.exitCode ??= code;
        this.#err += words;
      });
    };
    this.child.on('error', (error) => over(127, error.message));
    this.child.on('close', (code) => over(code ?? 1, ''));
  }

  get pid() {
    return this.child.pid ?? 0;
  }

  /** Its last lines on stderr. */
  get said() {
    return this.#err.trim();
  }

  /** Forgets what it has printed so far. */
  forget() {
    this.#out = '';
  }

  /**
   * The first whole line that `read` finds something in. Rejects when the process ends before or after `patience` ms.
   * @template T @param {(line: string) => T | null} read @param {string} what @returns {Promise<T>}
   */
  line(read, what, patience = 30_000) {
    return this.#when(
      () => {
        for (const line of this.#out.split('\n').slice(0, -1)) {
          const found = read(line);
          if (found !== null) return { found };
        }
        if (this.exitCode !== null) throw new Error(`${what}: it ended with ${this.exitCode}: ${this.said}`);
        return null;
      },
      `${what} has not come within ${patience} ms: ${this.said}`,
      patience,
    );
  }

  /** All that it prints, once it has ended well. @param {number} patience ms */
  output(patience) {
    return this.#when(
      () => {
        if (this.exitCode === null) return null;
        if (this.exitCode !== 0) throw new Error(`it ended with ${this.exitCode}: ${this.said}`);
        return { found: this.#out };
      },
      `it has not ended within ${patience} ms: ${this.said}`,
      patience,
    );
  }

  /** @param {NodeJS.Signals} signal */
  async end(signal = 'SIGKILL', patience = 10_000) {
    this.child.kill(signal);
    await this.#when(() => (this.exitCode === null ? null : { found: true }), 'it does not end', patience);
  }

  /** @template T @param {() => { found: T } | null} look @param {string} late @param {number} patience @returns {Promise<T>} */
  #when(look, late, patience) {
    return new Promise((resolve, reject) => {
      /** @param {() => void} settle */
      const settled = (settle) => {
        clearTimeout(timer);
        this.#listeners.delete(listener);
        settle();
      };
      const listener = () => {
        try {
          const result = look();
          if (result !== null) settled(() => resolve(result.found));
        } catch (error) {
          settled(() => reject(error));
        }
      };
      const timer = setTimeout(() => settled(() => reject(new Error(late))), patience);
      this.#listeners.add(listener);
      listener();
    });
  }
}

/** What a line of hedgerow's, a peer's or the backend's says about ports. @param {string} line @returns {number[] | null} */
export function portsIn(line) {
  if (/^\d+$/.test(line)) return [Number(line)];
  if (!line.startsWith('{')) return null;
  const said = JSON.parse(line);
  if (Array.isArray(said.ports)) return said.ports;
  return said.msg === 'ready' ? [Number(said.listen[0].split(':').at(-1))] : null;
}

/** @returns {Promise<number>} */
export function freePort() {
  return new Promise((resolve) => {
    const server = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = /** @type {net.AddressInfo} */ (server.address());
      server.close(() => resolve(port));
    });
  });
}
