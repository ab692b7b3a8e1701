import type { MethodPolicy } from '../config/methods.js';
import { describeCodes, describePlan } from '../config/policy-words.js';
import { printable } from '../config/quote.js';
import type { Plan } from '../policy/types.js';
import type { Range, ScheduledAttempt } from '../sim/schedule.js';
import type { Explanation } from './explanation.js';
import { type FittingEntry, showName } from './governing-entry.js';
import { inMs, timelineLines, tokens } from './timeline-text.js';

/** What `hedgerow explain` prints for a person. Ends with a line end. */
export function explainInWords(explanation: Explanation, file: string): string {
  const { governing, notes, timeline } = explanation;
  const { policy } = governing;
  const blocks = [
    [...whichEntry(explanation, file), ...notes.map((note) => `note: ${note}`)],
    [describePlan(policy.plan), ...fieldLines(policy), ...throttleLines(explanation)],
    scheduleLines(explanation),
    ...(timeline === null ? [] : [timelineLines(timeline, explanation)]),
  ];
  return `${blocks.map((lines) => lines.join('\n')).join('\n\n')}\n`;
}

function whichEntry({ path, governing: { by, passedOver } }: Explanation, file: string): string[] {
  const shown = printable(path);
  if (by === null) return [`no entry of methodConfig names ${shown}, its service, or all methods (${printable(file)})`];
  const place = `methodConfig[${by.entry.index}] (${printable(file)}:${by.line})`;
  const others = passedOver.map((other) => `methodConfig[${other.entry.index}] ${showName(other.name)}`);
  return [
    `${shown} is governed by ${place}: ${why(by)}`,
    ...(others.length === 0
      ? []
      : [`fitting too, and wider, so without effect (entries are not merged): ${others.join(', ')}`]),
  ];
}

function why({ name }: FittingEntry): string {
  const shown = `its name ${showName(name)}`;
  switch (name.kind) {
    case 'method':
      return `${shown} is this method`;
    case 'service':
      return `${shown} is the default of the service, and no entry names the method`;
    case 'all':
      return `${shown} is the default of all methods, and no entry names the method or its service`;
    default:
      return name satisfies never;
  }
}

function fieldLines({
  timeout,
  waitForReady,
  maxRequestMessageBytes,
  maxResponseMessageBytes,
}: MethodPolicy): string[] {
  const lines: string[] = [];
  if (timeout !== null)
    lines.push(
      `timeout: ${inMs(timeout)} for all attempts and waits; a client's own deadline rules where it is earlier`,
    );
  if (waitForReady) lines.push('waitForReady: where no backend can be reached, it waits for one');
  if (maxRequestMessageBytes !== null) lines.push(`request messages: at most ${maxRequestMessageBytes} bytes each`);
  if (maxResponseMessageBytes !== null) lines.push(`response messages: at most ${maxResponseMessageBytes} bytes each`);
  return lines;
}

function throttleLines({ throttle, governing }: Explanation): string[] {
  if (throttle === null) return [];
  const { limits, milliTokens } = throttle;
  const { plan } = governing.policy;
  const level = `${tokens(milliTokens)} of ${tokens(limits.maxMilliTokens)} tokens`;
  const gain = `an OK gives ${tokens(limits.milliTokensPerSuccess)}`;
  if (plan.kind === 'none')
    return [`throttle: ${level}, shared by all calls; ${gain}, only a do-not-retry pushback takes one`];
  const half = tokens(limits.maxMilliTokens / 2);
  return [
    `throttle: ${level}, shared by all calls; ${debits(plan)} takes 1, ${gain}; at ${half} or fewer no ${noun(plan)} is sent`,
  ];
}

function debits(plan: Exclude<Plan, { kind: 'none' }>): string {
  const codes = plan.kind === 'retry' ? plan.retryable : plan.nonFatal;
  return codes.size === 0 ? 'a do-not-retry pushback' : `${describeCodes(codes)}, or a do-not-retry pushback,`;
}

function noun(plan: Exclude<Plan, { kind: 'none' }>): string {
  return plan.kind === 'retry' ? 'retry' : 'hedge';
}

function scheduleLines({ schedule, deadline, governing: { policy } }: Explanation): string[] {
  const { plan } = policy;
  const limit = deadline === null ? '' : `; deadline ${inMs(deadline)}`;
  if (plan.kind === 'none') return [`attempts: 1, at once${limit}`];
  const title =
    plan.kind === 'retry'
      ? `attempts, each failure with ${describeCodes(plan.retryable)} bringing the next${limit}`
      : `attempts, while none has been answered${limit}`;
  const rows = schedule.map((row) => `  ${row.attempt}  ${moment(row, plan)}${hindrance(row, plan)}`);
  const last = schedule.at(-1);
  if (plan.kind === 'retry' && last !== undefined) rows.push(`  waits in all: ${range(last.at)}`);
  return [title, ...rows];
}

function moment({ attempt, wait, at }: ScheduledAttempt, plan: Plan): string {
  if (attempt === 1) return 'at once';
  if (plan.kind === 'retry') return `${range(wait)} after attempt ${attempt - 1} has failed`;
  return at.from === 0 ? 'at once' : `at ${range(at)}`;
}

function hindrance({ attempt, deadline, throttled }: ScheduledAttempt, plan: Plan): string {
  if (deadline === 'too late') return '; never made: too late for the deadline';
  if (throttled)
    return plan.kind === 'retry'
      ? `; not made if this call alone fails so often: attempt ${attempt - 1}'s failure shuts the throttle`
      : '; not sent: the throttle is shut from the start';
  return deadline === 'perhaps' ? '; only where the waits leave time before the deadline' : '';
}

/** `80–120 ms` */
function range({ from, to }: Range): string {
  return from === to ? inMs(from) : `${inMs(from).replace(' ms', '')}–${inMs(to)}`;
}
