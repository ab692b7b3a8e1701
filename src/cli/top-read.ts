import type { LiveSnapshot, RecentCall } from '../admin/live.js';
import { type Address, showAddress } from '../config/address.js';
import { legible } from '../grpc/legible.js';
import { asCalls, asSnapshot, type ShapeResult } from './top-shape.js';

/** An HTTP answer, or why there was none: the code of an error, or a sentence. */
export type HttpAnswer =
  | { readonly ok: true; readonly status: number; readonly body: string }
  | { readonly ok: false; readonly code: string; readonly message: string };

/** GET of a path at an address; never rejects. */
export type HttpGet = (address: Address, path: string) => Promise<HttpAnswer>;

export type TopRead =
  | { readonly ok: true; readonly snapshot: LiveSnapshot; readonly calls: readonly RecentCall[] }
  | { readonly ok: false; readonly problem: string };

/** Calls that are read: more than a screen has room for, so that there is something to filter. */
const most = 200;

/** Reads what is shown from an admin listener. A problem is one sentence. */
export async function readTop(get: HttpGet, address: Address): Promise<TopRead> {
  const [live, recent] = await Promise.all([get(address, '/live'), get(address, `/calls?limit=${most}`)]);
  const snapshot = judge(live, '/live', address, asSnapshot);
  if (!snapshot.ok) return snapshot;
  const calls = judge(recent, '/calls', address, asCalls);
  return calls.ok ? { ok: true, snapshot: snapshot.value, calls: calls.value.calls } : calls;
}

function judge<T>(
  answer: HttpAnswer,
  path: string,
  address: Address,
  as: (value: unknown) => ShapeResult<T>,
): ShapeResult<T> {
  const where = showAddress(address);
  if (!answer.ok) return { ok: false, problem: unreached(answer.code, answer.message, where) };
  const value = parse(answer.body);
  if (answer.status !== 200)
    return { ok: false, problem: `${where} answered ${path} with ${answer.status}${said(value)}` };
  const read = as(value);
  if (read.ok) return read;
  return { ok: false, problem: `what answers at ${where} is no admin listener of hedgerow (${path}: ${read.problem})` };
}

function unreached(code: string, message: string, where: string): string {
  switch (code) {
    case 'ECONNREFUSED':
    case 'ENOENT':
      return `nothing listens at ${where}; start hedgerow serve, or name its --admin address`;
    case 'ETIMEDOUT':
      return `${where} does not answer in time`;
    case 'ENOTFOUND':
      return `${where}: there is no such host`;
    case 'EACCES':
      return `${where} may not be opened`;
    default:
      return `${where} does not answer: ${legible(message)}`;
  }
}

function parse(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** What the listener says is wrong (contract, Admin HTTP). */
function said(value: unknown): string {
  if (typeof value !== 'object' || value === null || !('error' in value)) return '';
  return typeof value.error === 'string' ? `: ${legible(value.error)}` : '';
}
