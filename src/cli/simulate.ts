import { legible } from '../grpc/legible.js';
import { type ExplainResult, judgeConfig } from './explain.js';
import { earlier } from './explanation.js';
import { findGoverning } from './governing-entry.js';
import { simulationAsJson } from './simulate-json.js';
import type { SimulateOptions } from './simulate-options.js';
import { simulationInWords } from './simulate-text.js';
import { simulateMethod } from './simulation.js';

/** `hedgerow simulate`: what a policy would do to calls, success, times and load. */
export function simulate(text: string, fileName: string, options: SimulateOptions): ExplainResult {
  const judged = judgeConfig(text, fileName, options.maxAttemptsLimit);
  if (!judged.ok) return judged;
  const { config } = judged;
  const governing = findGoverning(config, text, options.method);
  const deadline = earlier(options.deadline, governing.policy.timeout);
  const silent = options.world.outages.findIndex(({ how }) => how.kind === 'silent');
  if (silent >= 0 && deadline === null) {
    const outage = options.words.outages[silent] ?? '';
    const problem = `--outage ${legible(outage)}: what is never answered never ends; give --deadline, or the method a timeout`;
    return { ok: false, problem, exitCode: 2 };
  }
  const simulation = simulateMethod(config, governing, deadline, options);
  const stdout = options.json
    ? `${JSON.stringify(simulationAsJson(simulation, fileName), null, 2)}\n`
    : simulationInWords(simulation, fileName);
  return { ok: true, stdout };
}
