import { printable } from '../config/quote.js';
import type { ServiceConfig } from '../config/service-config.js';
import { explainAsJson } from './explain-json.js';
import { explainInWords } from './explain-text.js';
import { explainMethod, type Question } from './explanation.js';
import { judgeText } from './load-service-config.js';

export interface ExplainOptions extends Question {
  readonly json: boolean;
  readonly maxAttemptsLimit: number;
}

/** What is to be printed, or what went wrong: 1 the service config is invalid, 2 the question does not fit it. */
export type ExplainResult =
  | { readonly ok: true; readonly stdout: string }
  | { readonly ok: false; readonly problem: string; readonly exitCode: 1 | 2 };

/** `hedgerow explain`: what the text of a service config means for one method. */
export function explain(text: string, fileName: string, options: ExplainOptions): ExplainResult {
  const judged = judgeConfig(text, fileName, options.maxAttemptsLimit);
  if (!judged.ok) return judged;
  const problem = tokensProblem(judged.config.throttling?.maxMilliTokens ?? null, fileName, options.milliTokens);
  if (problem !== null) return { ok: false, problem, exitCode: 2 };
  const explanation = explainMethod(judged.config, text, options);
  const stdout = options.json
    ? `${JSON.stringify(explainAsJson(explanation, fileName), null, 2)}\n`
    : explainInWords(explanation, fileName);
  return { ok: true, stdout };
}

/** The service config, or its first error and where to find the others. */
export function judgeConfig(
  text: string,
  fileName: string,
  maxAttemptsLimit: number,
): { readonly ok: true; readonly config: ServiceConfig } | Extract<ExplainResult, { ok: false }> {
  const judged = judgeText(fileName, text, maxAttemptsLimit);
  if (judged.ok) return judged;
  const hint = judged.problem.includes('hedgerow check ') ? '' : `; more: hedgerow check ${printable(fileName)}`;
  return { ok: false, problem: `${judged.problem}${hint}`, exitCode: 1 };
}

function tokensProblem(max: number | null, fileName: string, milliTokens: number | null): string | null {
  if (milliTokens === null) return null;
  if (max === null) return `--tokens: ${printable(fileName)} has no retryThrottling, so there is no bucket`;
  return milliTokens > max ? `--tokens ${milliTokens / 1000}: the bucket holds at most ${max / 1000}` : null;
}
