// When a name is asked for, and what an answer makes of its members. Pure; times in clock milliseconds, given.

/** After a failed look-up; as gRPC's connection backoff, which its resolvers use (gRPC Connection Backoff Protocol). */
const firstBackoff = 1000;
const backoffMultiplier = 1.6;
const backoffJitter = 0.2;
/** A look-up that has brought nothing for so long is told. It goes on: the system's resolver cannot be stopped. */
const patience = 10_000;
/** More addresses under one name are a mistake, or need a balancer of their own. */
export const mostMembers = 1000;

export interface ResolutionLimits {
  /** Between an answer and the next look-up, and at most after one that failed. At least 1000. */
  readonly refresh: number;
  /** Between two look-ups that lost connections ask for; doubles while they bring nothing new. */
  readonly minInterval: number;
}

/** What one name leads to, as far as is known. */
export interface Resolution {
  /** IP literals, each once, in the order in which they became known. Empty until the first answer. */
  readonly members: readonly string[];
  readonly asking: boolean;
  /** When the last look-up began. */
  readonly askedAt: number;
  /** When the next one is due; Infinity where none is. */
  readonly askAt: number;
  /** Wanted since the last look-up began: an answer of that one may be older than what made it wanted. */
  readonly wanted: boolean;
  /** The last look-up was wanted. */
  readonly forLoss: boolean;
  /** Look-ups in a row that were wanted and brought the same members: a backend that is down need not have moved. */
  readonly inVain: number;
  /** Look-ups in a row that failed. */
  readonly failures: number;
  /** What is wrong, as it was told; null where nothing is. */
  readonly trouble: string | null;
}

/** One answer. */
export interface Answer {
  /** IP literals as the resolver gave them, repeats and all. */
  readonly addresses: readonly string[];
  /** A family whose question failed while the other's was answered: its members are not known to be gone. */
  readonly unsure: { readonly version: 4 | 6; readonly problem: string } | null;
}

export type ResolutionEvent =
  /** A connection was lost, or could not be made: the name may lead elsewhere by now. */
  | { readonly type: 'wanted' }
  /** Asked for by hand: at once. */
  | { readonly type: 'asked' }
  | { readonly type: 'woke' }
  | { readonly type: 'answered'; readonly answer: Answer }
  /** @param problem a phrase without the name: `no such name` */
  | { readonly type: 'failed'; readonly problem: string };

export type ResolutionDecision =
  /** To be answered by `answered` or `failed`. At most one is under way. */
  | { readonly type: 'ask' }
  | { readonly type: 'changed'; readonly members: readonly string[] }
  /** @param problem null: it is over */
  | { readonly type: 'trouble'; readonly problem: string | null };

export interface ResolutionStep {
  readonly resolution: Resolution;
  /** In order. */
  readonly decisions: readonly ResolutionDecision[];
}

/** A name that nobody has asked for: `woke` begins it. */
export function newResolution(now: number): Resolution {
  return {
    members: [],
    asking: false,
    askedAt: Number.NEGATIVE_INFINITY,
    askAt: now,
    wanted: false,
    forLoss: false,
    inVain: 0,
    failures: 0,
    trouble: null,
  };
}

/** When `woke` is due; null where nothing is. */
export function resolutionWakeAt(resolution: Resolution): number | null {
  if (!resolution.asking) return resolution.askAt;
  return resolution.trouble === null ? resolution.askedAt + patience : null;
}

/**
 * What an event makes of it, and what is to be done.
 *
 * @param random in [0, 1)
 */
export function stepResolution(
  resolution: Resolution,
  event: ResolutionEvent,
  limits: ResolutionLimits,
  now: number,
  random: number,
): ResolutionStep {
  switch (event.type) {
    case 'wanted': {
      const wanted = { ...resolution, wanted: true };
      if (resolution.asking) return { resolution: wanted, decisions: [] };
      return due({ ...wanted, askAt: Math.min(resolution.askAt, soonest(resolution, limits, now)) }, now);
    }
    case 'asked':
      if (resolution.asking) return { resolution: { ...resolution, wanted: true }, decisions: [] };
      return due({ ...resolution, askAt: now }, now);
    case 'woke':
      return resolution.asking ? stillAsking(resolution, now) : due(resolution, now);
    case 'answered':
      return onAnswer({ ...resolution, asking: false }, event.answer, limits, now, random);
    case 'failed':
      return onFailure({ ...resolution, asking: false }, event.problem, limits, now, random);
    default:
      return event satisfies never;
  }
}

function due(resolution: Resolution, now: number): ResolutionStep {
  if (now < resolution.askAt) return { resolution, decisions: [] };
  const asking = { asking: true, askedAt: now, forLoss: resolution.wanted, wanted: false } as const;
  return { resolution: { ...resolution, ...asking }, decisions: [{ type: 'ask' }] };
}

function stillAsking(resolution: Resolution, now: number): ResolutionStep {
  if (now < resolution.askedAt + patience) return { resolution, decisions: [] };
  return told(resolution, `no answer for ${patience / 1000} s`, []);
}

function onAnswer(
  resolution: Resolution,
  answer: Answer,
  limits: ResolutionLimits,
  now: number,
  random: number,
): ResolutionStep {
  const { unsure } = answer;
  const addresses = once(answer.addresses);
  // An empty answer is no order to send everybody away: one bad zone transfer would empty the pool.
  if (addresses.length === 0) return onFailure(resolution, 'the name has no addresses', limits, now, random);
  const here = (member: string): boolean =>
    addresses.includes(member) || (unsure !== null && versionOf(member) === unsure.version);
  const kept = resolution.members.filter(here);
  // Servers turn the order of a name's addresses at each answer: what is known keeps its place.
  const members = [...kept, ...addresses.filter((address) => !kept.includes(address))].slice(0, mostMembers);
  const isSame = same(members, resolution.members);
  const inVain = isSame && resolution.forLoss ? resolution.inVain + 1 : 0;
  const answered = { ...resolution, members, inVain, failures: 0 };
  const refreshAt = now + limits.refresh;
  const askAt = resolution.wanted ? Math.min(refreshAt, soonest(answered, limits, now)) : refreshAt;
  const decisions: ResolutionDecision[] = isSame ? [] : [{ type: 'changed', members }];
  const over = addresses.length > mostMembers ? `more than ${mostMembers} addresses: the others are not used` : null;
  return told(
    { ...answered, askAt },
    unsure === null ? over : `of IPv${unsure.version} addresses: ${unsure.problem}`,
    decisions,
  );
}

function onFailure(
  resolution: Resolution,
  problem: string,
  limits: ResolutionLimits,
  now: number,
  random: number,
): ResolutionStep {
  const askAt = now + backoff(resolution.failures, limits, random);
  return told({ ...resolution, failures: resolution.failures + 1, askAt }, problem, []);
}

/** What is wrong is told once, and when it is over. */
function told(
  resolution: Resolution,
  trouble: string | null,
  decisions: readonly ResolutionDecision[],
): ResolutionStep {
  if (trouble === resolution.trouble) return { resolution, decisions };
  const decision: ResolutionDecision = { type: 'trouble', problem: trouble };
  return { resolution: { ...resolution, trouble }, decisions: [...decisions, decision] };
}

/** When a look-up that a lost connection wants may begin; the refresh may be due before. */
function soonest({ askedAt, inVain }: Resolution, { minInterval }: ResolutionLimits, now: number): number {
  return Math.max(now, askedAt + minInterval * 2 ** inVain);
}

/** @param failures in a row before this one */
function backoff(failures: number, { refresh }: ResolutionLimits, random: number): number {
  const base = Math.min(firstBackoff * backoffMultiplier ** failures, refresh);
  return Math.min(base * (1 - backoffJitter + 2 * backoffJitter * random), refresh);
}

/** Each address once; an IPv4-mapped one is the IPv4 address that it leads to. */
function once(addresses: readonly string[]): readonly string[] {
  const plain = addresses.map((address) => address.toLowerCase().replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/, ''));
  return [...new Set(plain)];
}

function versionOf(address: string): 4 | 6 {
  return address.includes(':') ? 6 : 4;
}

function same(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((item, index) => item === b[index]);
}
