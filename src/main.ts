#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { fileURLToPath } from 'node:url';
import { wallOffset } from './app/wall-offset.js';
import { run } from './cli/run.js';
import { serve } from './cli/serve.js';
import { createNodeAlarms, createNodeTimer } from './runtime/alarms.js';
import { nodeClock, steadyClock } from './runtime/clock.js';
import { watchLoopLag } from './runtime/loop-lag.js';
import { nodeRandom } from './runtime/random.js';
import { readText } from './runtime/read-text.js';
import { nodeTurn } from './runtime/turn.js';
import { nodeStamp, readAgain, watchFile } from './runtime/watch-file.js';
import { createAccessLog } from './telemetry/access-log.js';
import { createLoggers } from './telemetry/logger.js';
import type { ProcessFacts } from './telemetry/metrics/program-numbers.js';
import { createRunLog } from './telemetry/serve-log.js';
import { readTraceEnvironment, type TraceEnvironment } from './telemetry/traces/environment.js';
import type { RunningTracing, TracingOptions } from './telemetry/traces/start-tracing.js';

/** What spans get, at the end of a drain, to be sent (ms). */
const traceFlush = 3000;

// The process boundary: argv, environment, signals, exit code. Nothing else touches `process`.

const ports = {
  clock: nodeClock,
  random: nodeRandom,
  alarms: createNodeAlarms(),
  turn: nodeTurn,
  readAsset: (path: string) => readText(fileURLToPath(new URL(path, import.meta.url))),
};
const stderr = (text: string): void => {
  process.stderr.write(text);
};

/** Resolves at the first signal; the second ends the process at once (contract, SIGTERM). */
function terminated(): Promise<string> {
  return new Promise((resolve) => {
    let asked = false;
    const onSignal = (signal: NodeJS.Signals): void => {
      if (asked) process.exit(signal === 'SIGINT' ? 130 : 143);
      asked = true;
      resolve(signal);
    };
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  });
}

/** A defect that no call could be blamed for: one line, then the end. What supervises the process starts it again. */
process.on('uncaughtException', (error) => {
  const place = /\n +at (.*)/.exec(error.stack ?? '')?.[1] ?? 'an unknown place';
  stderr(`hedgerow: a defect ended the process: ${error.message} (${place}); please report it\n`);
  process.exit(70);
});

function packageVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  const parsed: unknown = JSON.parse(text);
  return typeof parsed === 'object' && parsed !== null && 'version' in parsed ? String(parsed.version) : 'unknown';
}

function processFacts(): ProcessFacts {
  return {
    version: packageVersion(),
    node: process.version,
    startedAt: Date.now() / 1000 - process.uptime(),
    residentBytes: () => process.memoryUsage.rss(),
    cpuSeconds() {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1_000_000;
    },
  };
}

/** Null: the environment asks for no traces. Brings OpenTelemetry's packages for them only where it does. */
async function startTraces(
  { on, endpoint }: TraceEnvironment,
  tell: TracingOptions['tell'],
): Promise<RunningTracing | null> {
  if (!on) return null;
  const { startTracing } = await import('./telemetry/traces/start-tracing.js');
  const now = (): number => nodeClock.now();
  const tracing = startTracing({
    version: packageVersion(),
    now,
    wallOffset: () => wallOffset(nodeClock, Date.now),
    tell,
  });
  tell('info', { event: 'traces', endpoint }, `traces are sent to ${endpoint}`);
  return tracing;
}

// Whoever read our output may go away: no reason to end calls that are going well.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});

const io = {
  env: process.env,
  readFile: readText,
  stdout: (text: string): void => {
    process.stdout.write(text);
  },
  stderr,
  columns: process.stdout.isTTY ? process.stdout.columns : null,
  localAddresses: Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address)),
  version: packageVersion(),
};

const exitCode = await run(process.argv.slice(2), io, {
  async serve(settings, origins, notes) {
    const { ProgramMeters } = await import('./telemetry/metrics/meters.js');
    const meters = new ProgramMeters(processFacts());
    watchLoopLag(steadyClock, createNodeTimer(), (late) => meters.lagged(late));
    const format = settings.logFormat ?? (process.stdout.isTTY ? 'pretty' : 'json');
    const { logger, calls } = createLoggers({
      level: settings.logLevel,
      pretty: format === 'pretty' ? (await import('pino-pretty')).PinoPretty : null,
      destination: process.stdout,
      onDropped: (kind) => meters.lineDropped(kind),
    });
    const lines = createRunLog(logger, createAccessLog(calls, settings.accessLog), () => nodeClock.now());
    // From before the start on: the default action would end the process, and every call with it.
    let onHangup = (): void => {};
    process.on('SIGHUP', () => onHangup());
    const traces = readTraceEnvironment(process.env);
    const tracing = await startTraces(traces, lines.tell);
    const code = await serve(settings, origins, [...notes, ...traces.warnings], {
      readFile: readText,
      readAgain,
      watch: (path, onChange) => watchFile(path, { ...ports, stampOf: nodeStamp }, onChange),
      stderr,
      ports: { ...ports, localAddresses: io.localAddresses },
      wallNow: Date.now,
      log: { ...lines, meters, tracing },
      terminated: terminated(),
      onHangup: (listener) => {
        onHangup = listener;
      },
    });
    await tracing?.stop(traceFlush);
    return code;
  },
  async demo({ calls, admin }) {
    // Brings @grpc/grpc-js, which the other commands start faster without.
    const [{ runDemo }, { createStartProxy }, { ProgramMeters }] = await Promise.all([
      import('./demo/run-demo.js'),
      import('./demo/start-proxy.js'),
      import('./telemetry/metrics/meters.js'),
    ]);
    const interrupted = new AbortController();
    void terminated().then(() => interrupted.abort());
    try {
      await runDemo({
        calls,
        admin,
        interrupted: interrupted.signal,
        serviceConfigText: await readText(fileURLToPath(new URL('../service-config.json', import.meta.url))),
        startProxy: createStartProxy(ports, new ProgramMeters(processFacts())),
        out: io.stdout,
        color: process.stdout.hasColors?.() ?? false,
        width: Math.min(Math.max(io.columns ?? 100, 60), 110),
      });
      return 0;
    } catch (error) {
      stderr(`hedgerow demo: ${error instanceof Error ? error.message : String(error)}\n`);
      return 1;
    }
  },
  async top(options) {
    // Brings node:http, which the other commands start faster without.
    const [{ top }, { createHttpGet }, { takeTerminal }] = await Promise.all([
      import('./cli/top.js'),
      import('./runtime/http-get.js'),
      import('./runtime/terminal.js'),
    ]);
    const { stdin, stdout } = process;
    return top(options, {
      get: createHttpGet(5000),
      takeScreen:
        stdin.isTTY && stdout.isTTY && process.env['TERM'] !== 'dumb'
          ? () => {
              const terminal = takeTerminal(stdin, stdout);
              // However the process ends, a defect included, the terminal is given back.
              process.on('exit', () => terminal.leave());
              return terminal;
            }
          : null,
      stdout: io.stdout,
      stderr,
      color: stdout.isTTY && stdout.hasColors(),
      columns: io.columns,
      now: () => nodeClock.now(),
      timeOfDay: (at) => new Date(at).toTimeString().slice(0, 8),
      wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      ended: Promise.race([
        terminated(),
        new Promise((resolve) => {
          for (const event of ['error', 'close']) stdout.on(event, resolve);
        }),
      ]),
    });
  },
});

// All that is ours has ended. What a library still holds open must not keep the process; what was said is written first.
process.stdout.write('', () => process.stderr.write('', () => process.exit(exitCode)));
