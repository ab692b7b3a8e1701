import { setTimeout as delay } from 'node:timers/promises';
import { statusName } from '../grpc/status.js';
import type { CallRecord } from '../proxy/observer.js';
import { duration, wrap } from '../text/paint.js';
import { backendNames, startBackends } from './backends.js';
import { type ClientView, createDemoClient, type DemoClient } from './client.js';
import type { FailureInfo } from './failure-details.js';
import type { Bucket } from './gauge.js';
import { createInbox, type Inbox } from './inbox.js';
import { loadProtocol, type Protocol } from './protocol.js';
import { ordinary, type Scene, scenes } from './scenes.js';
import { type Arrival, createStage, type Stage } from './stage.js';
import type { DemoProxy, StartProxy } from './start-proxy.js';
import { drawLegend, drawSummary, hedgeWon } from './summary.js';
import { drawCall, type Look } from './waterfall.js';

export interface DemoRunOptions extends Look {
  /** How many calls to make; null: until `interrupted`. */
  readonly calls: number | null;
  /** No further call is made, and the summary printed. */
  readonly interrupted: AbortSignal;
  readonly serviceConfigText: string;
  /** Where the dashboard is served: an address, or `off`; null: wherever there is room. */
  readonly admin: string | null;
  readonly startProxy: StartProxy;
  readonly out: (text: string) => void;
}

/** From the start of one call to that of the next, where there is no end to them (ms). */
const leisure = 400;
/** The most that the proxy's record of a call may come after the client's answer, or before it (ms). */
const patience = 5000;

/**
 * Three backends with faults, the proxy and a client, all in this process: makes calls one after another and draws each.
 * Resolves when all is stopped; rejects where something could not be started, or a call has no end.
 */
export async function runDemo(options: DemoRunOptions): Promise<void> {
  const protocol = loadProtocol();
  const stage = createStage();
  const backends = await startBackends(protocol, stage);
  try {
    const inbox = createInbox();
    const { serviceConfigText, admin } = options;
    const proxy = await options.startProxy({ backends, serviceConfigText, admin, observer: inbox.observer });
    const client = createDemoClient(proxy.port);
    try {
      options.out(introduction(proxy.admin, options));
      options.out(drawSummary(await makeCalls({ client, protocol, stage, inbox, proxy }, options), options));
    } finally {
      client.close();
      await proxy.stop();
    }
  } finally {
    for (const backend of backends) backend.stop();
  }
}

/** What plays. */
interface Cast {
  readonly client: DemoClient;
  readonly protocol: Protocol;
  readonly stage: Stage;
  readonly inbox: Inbox;
  readonly proxy: DemoProxy;
}

async function makeCalls(cast: Cast, options: DemoRunOptions): Promise<CallRecord[]> {
  const { client, protocol, stage, inbox, proxy } = cast;
  const { calls, interrupted, out } = options;
  const records: CallRecord[] = [];
  let turn = 0;
  let detailsShown = false;
  while (!interrupted.aborted && (calls === null || records.length < calls)) {
    const pause = calls === null ? sleep(leisure, interrupted) : null;
    const before = proxy.bucket();
    // The remainder is an index of the list.
    const due = scenes[turn % scenes.length] ?? scenes[0];
    const scene = due.fullBucket === true && !isFull(before) ? ordinary : due;
    if (scene === due) turn += 1;
    stage.set(scene.parts);
    const [view, record] = await bounded(scene, Promise.all([scene.play(client, protocol), inbox.next()]));
    records.push(record);
    const { title, lesson } = scene;
    const notes = notesOf(scene, view, record, stage.arrivals);
    if (view.info !== null && !detailsShown) notes.push(detailsInWords(view.info));
    detailsShown ||= view.info !== null;
    const number = records.length;
    out(`${drawCall({ number, title, lesson, record, before, after: proxy.bucket(), notes }, options)}\n`);
    await pause;
  }
  return records;
}

function isFull(bucket: Bucket | null): boolean {
  return bucket === null || bucket.milliTokens === bucket.limits.maxMilliTokens;
}

function introduction(admin: string | null, look: Look): string {
  const names = `${backendNames.slice(0, -1).join(', ')} and ${backendNames.at(-1)}`;
  const lines = [
    'A client without retries of its own calls three backends through hedgerow, by service-config.json.',
    `The backends are ${names}; what goes wrong there is arranged, call by call.`,
  ];
  const told = lines.flatMap((line) => wrap(line, look.width));
  // A line of its own, for whoever looks for it.
  if (admin !== null) told.push(`dashboard: ${admin.startsWith('unix:') ? admin : `http://${admin}/`}`);
  return `${told.join('\n')}\n\n${drawLegend(look)}\n`;
}

/** What the two ends of the call can tell, beside the proxy's record. */
function notesOf(
  { parts: [first] }: Scene,
  { code, told }: ClientView,
  record: CallRecord,
  arrivals: readonly Arrival[],
): string[] {
  const notes: string[] = [];
  if (hedgeWon(record)) notes.push(`without hedges the client would have waited for ${duration(first.pace)}`);
  if (code !== record.code) notes.push(`the client saw ${statusName(code)}`);
  if (arrivals.length > 1) {
    const previous = arrivals.map((arrival) => arrival.previous ?? 'none');
    notes.push(`backends were told, in turn: grpc-previous-rpc-attempts ${previous.join(', ')}`);
  }
  const keys = ['backends', 'hedged', 'stop-reason', 'origin'].flatMap((key) => {
    const value = told.get(key);
    return value === undefined ? [] : [`${key}: ${value}`];
  });
  if (keys.length > 0) notes.push(`the client was told: ${keys.map((key) => `hedgerow-${key}`).join('; ')}`);
  return notes;
}

function detailsInWords({ reason, domain }: FailureInfo): string {
  return `status details came through untouched: ${reason} (${domain})`;
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
