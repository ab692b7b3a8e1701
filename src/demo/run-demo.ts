import { setTimeout as delay } from 'node:timers/promises';
import { statusName } from '../grpc/status.js';
import type { CallObserver, CallRecord } from '../proxy/observer.js';
import { type DemoBackend, startBackends } from './backends.js';
import { type ClientView, createDemoClient, type DemoClient } from './client.js';
import { loadProtocol, type Protocol } from './protocol.js';
import { type Scene, scenes } from './scenes.js';
import type { StartProxy } from './start-proxy.js';
import { drawCall, drawLegend, drawSummary, type Look } from './waterfall.js';

export interface DemoRunOptions extends Look {
  /** How many calls to make; null: until `interrupted`. */
  readonly calls: number | null;
  /** No further call is made, and the summary printed. */
  readonly interrupted: AbortSignal;
  readonly serviceConfigText: string;
  readonly startProxy: StartProxy;
  readonly out: (text: string) => void;
}

/** From the start of one call to that of the next, where there is no end to them (ms). */
const leisure = 500;
/** The most that the proxy's record of a call may come after the client's answer, or before it (ms). */
const patience = 5000;

/**
 * Three backends with faults, the proxy and a client, all in this process: makes calls one after another and draws each.
 * Resolves when all is stopped; rejects where something could not be started, or a call has no end.
 */
export async function runDemo(options: DemoRunOptions): Promise<void> {
  const protocol = loadProtocol();
  const backends = await startBackends(protocol);
  try {
    const inbox = createInbox();
    const { serviceConfigText } = options;
    const proxy = await options.startProxy({ backends, serviceConfigText, observer: inbox.observer });
    const client = createDemoClient(proxy.port);
    try {
      options.out(introduction(backends, options));
      options.out(drawSummary(await makeCalls(client, protocol, inbox, options), options));
    } finally {
      client.close();
      await proxy.stop();
    }
  } finally {
    for (const backend of backends) backend.stop();
  }
}

async function makeCalls(
  client: DemoClient,
  protocol: Protocol,
  inbox: Inbox,
  options: DemoRunOptions,
): Promise<CallRecord[]> {
  const { calls, interrupted, out } = options;
  const records: CallRecord[] = [];
  while (!interrupted.aborted && (calls === null || records.length < calls)) {
    const pause = calls === null ? sleep(leisure, interrupted) : null;
    const number = records.length + 1;
    // The remainder is an index of the list.
    const scene = scenes[(number - 1) % scenes.length] as Scene;
    const [view, record] = await bounded(scene, Promise.all([scene.play(client, protocol), inbox.next()]));
    records.push(record);
    out(`${drawCall({ number, title: scene.title, record, note: noteOf(view, record) }, options)}\n`);
    await pause;
  }
  return records;
}

function introduction(backends: readonly DemoBackend[], look: Look): string {
  const width = Math.max(...backends.map(({ name }) => name.length));
  const lines = [
    'A client without retries of its own calls three backends through hedgerow:',
    ...backends.map(({ name, about }) => `  ${name.padEnd(width)}  ${about}`),
    '',
  ];
  return `${lines.join('\n')}\n${drawLegend(look)}\n`;
}

/** What the client alone can tell: a status that is not the proxy's, and the details that came with it. */
function noteOf({ code, info }: ClientView, record: CallRecord): string | null {
  if (code !== record.code) return `the client saw ${statusName(code)}`;
  return info === null ? null : `status details reached the client untouched: ${info.reason} (${info.domain})`;
}

/** The proxy's records, taken one by one. */
interface Inbox {
  readonly observer: CallObserver;
  next(): Promise<CallRecord>;
}

function createInbox(): Inbox {
  const waiting: CallRecord[] = [];
  let taker: ((record: CallRecord) => void) | null = null;
  return {
    observer: {
      wants: () => true,
      onCallEnded(record) {
        if (taker === null) waiting.push(record);
        else taker(record);
        taker = null;
      },
    },
    next() {
      const record = waiting.shift();
      if (record !== undefined) return Promise.resolve(record);
      return new Promise((resolve) => {
        taker = resolve;
      });
    },
  };
}

/** Resolves early when interrupted. */
function sleep(ms: number, interrupted: AbortSignal): Promise<void> {
  return delay(ms, undefined, { signal: interrupted }).catch(() => {});
}

async function bounded<T>({ title }: Scene, call: Promise<T>): Promise<T> {
  const over = new AbortController();
  const late = delay(patience, null, { signal: over.signal }).then(
    () => Promise.reject(new Error(`the demo’s call (${title}) did not end within ${patience / 1000} s`)),
    () => call,
  );
  try {
    return await Promise.race([call, late]);
  } finally {
    over.abort();
  }
}
