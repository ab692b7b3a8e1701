import { thousandths } from '../config/decimal.js';
import { readFlags } from '../config/flags.js';
import { quote } from '../config/quote.js';
import { duration, integer } from '../config/setting-kinds.js';
import { parseScript } from '../sim/script.js';
import type { ExplainOptions } from './explain.js';
import type { Draw } from './explanation.js';
import { readOperands } from './method-path.js';
import { attempts, type CommandFlag, type Options, readAttemptsLimit, shapesOf } from './options.js';

const json: CommandFlag = { name: 'json', metavar: null, help: 'Print one JSON object.' };
const script: CommandFlag = {
  name: 'script',
  metavar: 'SCRIPT',
  help: 'Outcomes of the attempts, in order of their starts: 14@10ms,UNAVAILABLE@5ms:pushback=50,0@20ms.',
};
const deadline: CommandFlag = {
  name: 'deadline',
  metavar: 'DURATION',
  help: "The client's deadline. [none; 0s to 24h]",
};
const tokens: CommandFlag = {
  name: 'tokens',
  metavar: 'N',
  help: 'Where the token bucket stands at the start. [full; 0 to maxTokens]',
};
const random: CommandFlag = {
  name: 'random',
  metavar: 'X',
  help: 'Draw every backoff with this number: 0 is the shortest wait, 0.5 has no jitter. [0.5; 0 to below 1]',
};
const seed: CommandFlag = {
  name: 'seed',
  metavar: 'N',
  help: 'Draw backoffs at random, the same ones for the same seed. [0 to 4294967295]',
};

export const explainFlags: readonly CommandFlag[] = [script, deadline, tokens, random, seed, json, attempts];

/** `explain FILE /pkg.Service/Method [flags]` */
export function readExplainOptions(argv: readonly string[]): Options<ExplainOptions & { readonly file: string }> {
  const read = readFlags(argv, shapesOf(explainFlags));
  if (!read.ok) return read;
  const { values, positionals } = read.flags;
  const operands = readOperands(positionals, 'explain');
  if (!operands.ok) return operands;
  const { file, method } = operands.value;

  const last = (flag: CommandFlag): string | null => values.get(flag.name)?.at(-1) ?? null;
  const limit = readAttemptsLimit(last(attempts));
  if (!limit.ok) return limit;
  const deadlineText = last(deadline);
  const time = deadlineText === null ? null : duration('0s', '24h').fromText(deadlineText);
  if (time !== null && !time.ok) return wrong(`--${deadline.name} ${quote(deadlineText ?? '')}: ${time.problem}`);
  const scriptText = last(script);
  const parsed = scriptText === null ? null : parseScript(scriptText);
  if (parsed !== null && !parsed.ok) return wrong(`--${script.name}: ${parsed.problem}`);
  const level = readTokens(last(tokens));
  if (level === 'wrong') return wrong(`--${tokens.name} ${quote(last(tokens) ?? '')}: must be a number like 7 or 7.5`);
  const draw = readDraw(last(random), last(seed));
  if (!draw.ok) return draw;
  return {
    ok: true,
    options: {
      file,
      method,
      json: values.has(json.name),
      script: parsed === null || scriptText === null ? null : { text: scriptText, script: parsed.value },
      deadline: time?.value ?? null,
      milliTokens: level,
      draw: draw.options,
      maxAttemptsLimit: limit.options,
    },
  };
}

/** In thousandths; digits past the third decimal are cut, as those of tokenRatio are. */
function readTokens(text: string | null): number | null | 'wrong' {
  if (text === null) return null;
  return /^\d{1,6}(\.\d{1,9})?$/.test(text) ? thousandths(text) : 'wrong';
}

function readDraw(randomText: string | null, seedText: string | null): Options<Draw> {
  if (randomText !== null && seedText !== null) return wrong(`--${random.name} and --${seed.name}: give one of them`);
  if (seedText !== null) {
    const read = integer(0, 2 ** 32 - 1).fromText(seedText);
    if (!read.ok) return wrong(`--${seed.name} ${quote(seedText)}: ${read.problem}`);
    return { ok: true, options: { kind: 'seed', value: read.value } };
  }
  const value = randomText === null ? 0.5 : Number(randomText);
  if (randomText !== null && !(/^\d?(\.\d{1,15})?$/.test(randomText) && randomText !== '' && value < 1))
    return wrong(`--${random.name} ${quote(randomText)}: must be a number from 0 to below 1`);
  return { ok: true, options: { kind: 'fixed', value } };
}

function wrong(problem: string): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem };
}
