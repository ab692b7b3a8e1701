import type { LiveSnapshot } from '../admin/live.js';
import { percent } from '../admin/live-math.js';
import { briefly, span } from '../text/words.js';
import type { Link } from './banners.js';

/* The table of backends. Pure. */

type Backend = LiveSnapshot['backends'][number];

/** One row, in words. */
export interface BackendLine {
  readonly name: string;
  readonly address: string;
  readonly state: string;
  readonly tone: 'good' | 'warn' | 'bad';
  readonly why: string;
  readonly since: string;
  readonly inFlight: string;
  readonly failureRate: string;
  /** Average time to response headers. */
  readonly answersIn: string;
  /** When its state changes by time alone: a park's end, the next connect. */
  readonly next: string;
}

/** Rows that are shown at most. */
const mostRows = 50;

/** The table, and how many backends it has no room for. */
export interface BackendTable {
  readonly lines: readonly BackendLine[];
  readonly more: number;
}

/** Those that are amiss come first. @param link once it is lost nothing is known of what comes next */
export function backendTable({ backends }: LiveSnapshot, link: Link): BackendTable {
  const first = backends.map((backend) => ({ backend, tone: toneOf(backend) }));
  first.sort((a, b) => tones.indexOf(a.tone) - tones.indexOf(b.tone));
  const lines = first.slice(0, mostRows).map(({ backend, tone }) => lineOf(backend, tone, link));
  return { lines, more: first.length - lines.length };
}

/** What wants a look first, first. */
const tones: readonly BackendLine['tone'][] = ['bad', 'warn', 'good'];

function lineOf(backend: Backend, tone: BackendLine['tone'], link: Link): BackendLine {
  return {
    name: backend.name,
    address: backend.address,
    state: backend.state.replace('_', ' '),
    tone,
    why: backend.why ?? '',
    since: span(backend.since_ms),
    inFlight: backend.queued === 0 ? String(backend.in_flight) : `${backend.in_flight} + ${backend.queued} queued`,
    failureRate: percent(backend.failure_rate),
    answersIn: backend.ewma_ms === null ? '–' : briefly(backend.ewma_ms),
    next: link === 'lost' ? '–' : nextOf(backend),
  };
}

function toneOf({ state, standing }: Backend): BackendLine['tone'] {
  switch (state) {
    case 'ready':
      return standing === 'clean' ? 'good' : 'warn';
    case 'connecting':
    case 'draining':
    case 'rate_limited':
      return 'warn';
    case 'parked':
    case 'down':
      return 'bad';
    default:
      return state satisfies never;
  }
}

function nextOf({ state, parked_for_ms, rate_limited_for_ms, next_connect_in_ms }: Backend): string {
  switch (state) {
    case 'parked':
      return parked_for_ms === null ? 'until unparked' : `${span(parked_for_ms)}: probe`;
    case 'rate_limited':
      return `${span(rate_limited_for_ms)}: used again`;
    case 'down':
      return next_connect_in_ms === null ? 'connecting' : `${span(next_connect_in_ms)}: connect`;
    case 'ready':
    case 'connecting':
    case 'draining':
      return '–';
    default:
      return state satisfies never;
  }
}
