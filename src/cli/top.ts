import { showAddress } from '../config/address.js';
import { createPaint } from '../text/paint.js';
import { drawFrame } from './top-frame.js';
import { topAsJson } from './top-json.js';
import { readKeys } from './top-keys.js';
import type { TopOptions } from './top-options.js';
import { type HttpGet, readTop, type TopRead } from './top-read.js';
import { firstState, type Size, shownOf, step, type TopEvent, type TopState } from './top-state.js';

/** A terminal that is drawn on: another screen, without a cursor, and keys as they are pressed. */
export interface Screen {
  readonly size: () => Size;
  /** Lines from the top; what was below is cleared. Drops a frame while the terminal is behind. */
  draw(lines: readonly string[]): void;
  onInput(listener: (text: string) => void): void;
  onResize(listener: () => void): void;
  /** Gives the terminal back as it was. */
  leave(): void;
}

export interface TopPorts {
  readonly get: HttpGet;
  /** Takes the terminal; null where stdin or stdout is none. */
  readonly takeScreen: (() => Screen) | null;
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  readonly color: boolean;
  /** Of the terminal; null where there is none. */
  readonly columns: number | null;
  /** Clock milliseconds. */
  readonly now: () => number;
  readonly timeOfDay: (at: number) => string;
  /** Resolves after so many ms. */
  readonly wait: (ms: number) => Promise<void>;
  /** Resolves at a signal, or when nobody reads stdout any more. */
  readonly ended: Promise<unknown>;
}

/** Where there is no terminal. */
const plainColumns = 100;

/** `hedgerow top`; resolves to the exit code. */
export async function top(options: TopOptions, ports: TopPorts): Promise<number> {
  if (options.once) return showOnce(options, ports);
  const { takeScreen } = ports;
  return options.json || takeScreen === null ? print(options, ports) : show(options, ports, takeScreen());
}

/** Two looks, an interval apart: the rates are of now, not of all the time that the proxy has run. */
async function showOnce(options: TopOptions, ports: TopPorts): Promise<number> {
  let state = firstState;
  for (let look = 0; look < 2; look += 1) {
    if (look > 0 && (await interrupted(ports, options.interval))) return 0;
    const read = await readTop(ports.get, options.admin);
    if (!read.ok) {
      ports.stderr(`hedgerow top: ${read.problem}\n`);
      return 1;
    }
    state = step(state, eventOf(read, ports));
  }
  printState(state, options, ports);
  return 0;
}

/** A frame, or a line of JSON, each interval. Problems go to stderr, once until it is over. */
async function print(options: TopOptions, ports: TopPorts): Promise<number> {
  let state = firstState;
  do {
    const read = await readTop(ports.get, options.admin);
    const before = state.link;
    state = step(state, eventOf(read, ports));
    if (read.ok) printState(state, options, ports);
    else if (before.kind !== 'lost' || before.why !== read.problem)
      ports.stderr(`hedgerow top: ${read.problem}; trying again\n`);
  } while (!(await interrupted(ports, options.interval)));
  return 0;
}

function printState(state: TopState, options: TopOptions, ports: TopPorts): void {
  if (options.json) {
    const shown = shownOf(state);
    if (shown !== null) ports.stdout(`${JSON.stringify(topAsJson(shown))}\n`);
    return;
  }
  const size = { columns: ports.columns ?? plainColumns, rows: null };
  const lines = drawFrame(state, { ...lookOf(options, ports), size });
  ports.stdout(`${lines.join('\n')}\n${options.once ? '' : '\n'}`);
}

/** On the terminal, until `q`, ^C or a signal. */
async function show(options: TopOptions, ports: TopPorts, screen: Screen): Promise<number> {
  let state = firstState;
  let quit = (): void => {};
  const asked = new Promise<void>((resolve) => {
    quit = resolve;
  });
  const draw = (): void => screen.draw(drawFrame(state, { ...lookOf(options, ports), size: screen.size() }));
  const take = (events: readonly TopEvent[]): void => {
    for (const event of events) state = step(state, event);
    if (state.over) quit();
    else draw();
  };
  try {
    screen.onInput((text) => take(readKeys(text).map((key) => ({ type: 'key', key }))));
    screen.onResize(draw);
    draw();
    const over = Promise.race([asked, ports.ended]).then(() => true as const);
    for (;;) {
      const read = await Promise.race([readTop(ports.get, options.admin), over]);
      if (read === true) return 0;
      take([eventOf(read, ports)]);
      if ((await Promise.race([ports.wait(options.interval), over])) === true) return 0;
    }
  } finally {
    screen.leave();
  }
}

function eventOf(read: TopRead, ports: TopPorts): TopEvent {
  if (!read.ok) return { type: 'failed', why: read.problem, now: ports.now() };
  return { type: 'read', snapshot: read.snapshot, calls: read.calls };
}

function lookOf({ admin }: TopOptions, { color, now, timeOfDay }: TopPorts) {
  return { paint: createPaint(color), source: showAddress(admin), now: now(), timeOfDay };
}

async function interrupted({ wait, ended }: TopPorts, ms: number): Promise<boolean> {
  return Promise.race([wait(ms).then(() => false), ended.then(() => true)]);
}
