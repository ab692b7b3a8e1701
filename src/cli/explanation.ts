import type { Throttling } from '../config/policy-grammar.js';
import type { ServiceConfig } from '../config/service-config.js';
import { type Millis, millis } from '../grpc/millis.js';
import type { CallEvent } from '../policy/types.js';
import { type CallRun, runCall, silence } from '../sim/run-call.js';
import { type ScheduledAttempt, scheduleOf } from '../sim/schedule.js';
import type { Script } from '../sim/script.js';
import { seededRandom } from '../sim/seeded-random.js';
import { throttleAt } from '../sim/throttle-at.js';
import { findGoverning, type Governing, type MethodPath } from './governing-entry.js';

/** How waits are drawn in a timeline. */
export type Draw =
  | { readonly kind: 'fixed'; readonly value: number }
  | { readonly kind: 'seed'; readonly value: number };

export interface Question {
  readonly method: MethodPath;
  readonly script: { readonly text: string; readonly script: Script } | null;
  /** The client's own; null: none. */
  readonly deadline: Millis | null;
  /** The bucket at the start, in thousandths; null: full. */
  readonly milliTokens: number | null;
  readonly draw: Draw;
}

/** Everything that `hedgerow explain` tells, before it is put in words. */
export interface Explanation {
  /** `/pkg.Service/Method` */
  readonly path: string;
  readonly governing: Governing;
  /** The earlier of the client's and the method's own; null: none. */
  readonly deadline: Millis | null;
  readonly throttle: { readonly limits: Throttling; readonly milliTokens: number } | null;
  readonly schedule: readonly ScheduledAttempt[];
  readonly timeline: Timeline | null;
  readonly notes: readonly string[];
}

export interface Timeline {
  readonly script: string;
  readonly draw: Draw;
  readonly run: CallRun;
  /** Outcomes that the script gives. */
  readonly outcomes: number;
  /** Attempts that were started beyond them: nothing is heard of these. */
  readonly unscripted: readonly number[];
}

/** As the proxy has it: repeats of attempts that were never sent. */
const maxTransparent = 1000;

/** @param text of the config, for places */
export function explainMethod(config: ServiceConfig, text: string, question: Question): Explanation {
  const path = `/${question.method.service}/${question.method.method}`;
  const governing = findGoverning(config, text, question.method);
  const { plan, timeout } = governing.policy;
  const deadline = earlier(question.deadline, timeout);
  const { throttling } = config;
  const throttle =
    throttling === null ? null : { limits: throttling, milliTokens: question.milliTokens ?? throttling.maxMilliTokens };
  const bucket = (): ReturnType<typeof throttleAt> => throttleAt(throttling, throttle?.milliTokens ?? null);
  return {
    path,
    governing,
    deadline,
    throttle,
    schedule: scheduleOf(plan, deadline, bucket()),
    timeline: question.script === null ? null : play(question.script),
    notes: notesOn(config, governing),
  };

  function play({ text: script, script: { outcomes, cancelAt } }: NonNullable<Question['script']>): Timeline {
    const cancel: CallEvent = { type: 'aborted', by: 'client' };
    const { draw } = question;
    const run = runCall({
      plan,
      policy: 'on',
      placement: { kind: 'any' },
      timeout: deadline,
      maxTransparent,
      throttle: bucket(),
      random: draw.kind === 'fixed' ? () => draw.value : seededRandom(draw.value),
      outcome: ({ attempt }) => outcomes[attempt - 1] ?? silence,
      happenings: cancelAt === null ? [] : [{ at: cancelAt, event: cancel }],
    });
    const unscripted = run.attempts.map(({ id }) => id).filter((id) => id > outcomes.length);
    return { script, draw, run, outcomes: outcomes.length, unscripted };
  }
}

/** Null is no deadline. */
export function earlier(a: Millis | null, b: Millis | null): Millis | null {
  if (a === null || b === null) return a ?? b;
  return millis(Math.min(a, b));
}

/** What of the file does not come to be, a sentence each. */
export function notesOn(config: ServiceConfig, { policy, by, near }: Governing): string[] {
  const notes = [...near];
  const written = by?.entry.policy;
  if (written === undefined || written.kind === 'none') return notes;
  if (policy.plan.kind === 'none') notes.push('its policy is off: --max-attempts-limit is 1');
  else if (written.maxAttempts > policy.plan.maxAttempts) {
    const { maxAttempts } = policy.plan;
    notes.push(`maxAttempts is ${written.maxAttempts} in the file, cut to ${maxAttempts} by --max-attempts-limit`);
  }
  // THR-02, THR-03: a failure is debited before the bucket is looked at.
  if (written.kind === 'retry' && config.throttling !== null && config.throttling.maxMilliTokens <= 2000)
    notes.push('the throttle never permits a retry: one failure takes even a full bucket to half or under');
  return notes;
}
