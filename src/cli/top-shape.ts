import type { LiveSnapshot, RecentCall } from '../admin/live.js';

/** Null: the value has this shape; else where it has not. */
type Shape = (value: unknown) => string | null;
type Fields = Readonly<Record<string, Shape>>;

const number = typed('number');
const text = typed('string');
const flag = typed('boolean');
const anything: Shape = () => null;

function typed(name: 'number' | 'string' | 'boolean'): Shape {
  return (value) => (typeof value === name ? null : '');
}

function nullable(shape: Shape): Shape {
  return (value) => (value === null ? null : shape(value));
}

function optional(shape: Shape): Shape {
  return (value) => (value === undefined ? null : shape(value));
}

function list(shape: Shape): Shape {
  return (value) => {
    if (!Array.isArray(value)) return '';
    for (const [index, item] of value.entries()) {
      const place = shape(item);
      if (place !== null) return `[${index}]${place}`;
    }
    return null;
  };
}

function object(fields: Fields): Shape {
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return '';
    const found = new Map<string, unknown>(Object.entries(value));
    for (const [name, shape] of Object.entries(fields)) {
      const place = shape(found.get(name));
      if (place !== null) return `.${name}${place}`;
    }
    return null;
  };
}

/** An object whose values are numbers, under any names. */
const counts: Shape = (value) => {
  if (typeof value !== 'object' || value === null) return '';
  return Object.values(value).every((count) => typeof count === 'number') ? null : '';
};

const histogram = object({ bounds_ms: list(number), counts: list(number) });

const backend = {
  name: text,
  state: text,
  why: nullable(text),
  in_flight: number,
  calls: number,
  failures: number,
  failure_rate: number,
  parked_for_ms: nullable(number),
  rate_limited_for_ms: number,
  next_connect_in_ms: nullable(number),
} satisfies Partial<Record<keyof LiveSnapshot['backends'][number], Shape>>;

const throttle = {
  tokens: number,
  max_tokens: number,
  threshold: number,
  token_ratio: number,
  shut: flag,
  suppressed: number,
} satisfies Record<keyof NonNullable<LiveSnapshot['throttle']>, Shape>;

const totals = {
  ended: number,
  ok: number,
  cancelled: number,
  saved: number,
  retried: number,
  hedged: number,
  hedges_won: number,
} satisfies Record<keyof LiveSnapshot['calls'], Shape>;

const snapshot = object({
  instance: text,
  version: text,
  at: number,
  uptime_ms: number,
  draining: flag,
  drained: flag,
  ready: flag,
  config: object({ rejected: flag }),
  in_flight: number,
  clients: number,
  calls: object(totals),
  codes: counts,
  reasons: counts,
  attempts: list(number),
  latency: object({ calls: histogram, first_ended: histogram, first_cut: histogram }),
  throttle: nullable(object(throttle)),
  replay: anything,
  backends: list(object(backend)),
  methods: anything,
} satisfies Record<keyof LiveSnapshot, Shape>);

const attempt = {
  backend: nullable(text),
  cause: text,
  at: number,
  ms: number,
  result: text,
  code: text,
} satisfies Partial<Record<keyof RecentCall['attempts'][number], Shape>>;

const calls = object({
  calls: list(
    object({
      seq: number,
      started: number,
      call: text,
      method: text,
      code: text,
      message: optional(text),
      reason: text,
      hedges: number,
      ms: number,
      attempts: list(object(attempt)),
      why: text,
      remedy: nullable(text),
      help: text,
    } satisfies Partial<Record<keyof RecentCall, Shape>>),
  ),
});

export type ShapeResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: string };

/** What `GET /live` answered, as far as it is used: whatever else answers at that address is told apart. */
export function asSnapshot(value: unknown): ShapeResult<LiveSnapshot> {
  return judge<LiveSnapshot>(value, snapshot);
}

/** What `GET /calls` answered, likewise. */
export function asCalls(value: unknown): ShapeResult<{ readonly calls: readonly RecentCall[] }> {
  return judge<{ calls: readonly RecentCall[] }>(value, calls);
}

function judge<T>(value: unknown, shape: Shape): ShapeResult<T> {
  const place = shape(value);
  // What was checked is what is used of T.
  return place === null
    ? { ok: true, value: value as T }
    : { ok: false, problem: place === '' ? 'no object' : `nothing fit at ${place.slice(1)}` };
}
