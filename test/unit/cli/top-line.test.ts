import { expect, it } from 'vitest';
import { drawLine } from '../../../src/cli/top-line.js';
import { createPaint } from '../../../src/text/paint.js';
import { attempt, exhausted, hedgedCall, recentCall } from '../../support/live.js';

const plain = createPaint(false);

it.each([
  ['a call that was answered at once', recentCall(1), '██████████'],
  ['a retry, with the wait before it', exhausted(1), '▒▒······▒▒'],
  ['a hedge that answered, above the attempt that was cut', hedgedCall(1), '░░░░░░░░██'],
  ['an attempt too short to see is seen', recentCall(1, { ms: 100, attempts: [attempt({ ms: 0 })] }), '█         '],
  ['one at the very end too', recentCall(1, { ms: 100, attempts: [attempt({ at: 100, ms: 0 })] }), '·········█'],
  ['no attempt at all', recentCall(1, { attempts: [] }), '          '],
  ['a call of no time', recentCall(1, { ms: 0, attempts: [attempt({ ms: 0 })] }), '█         '],
])('%s', (_name, call, line) => {
  expect(drawLine(call, 10, plain)).toBe(line);
});

it('what differs in meaning differs in colour', () => {
  expect(drawLine(exhausted(1), 10, (tone, text) => `<${tone} ${text}>`)).toBe('<bad ▒▒><quiet ······><bad ▒▒>');
});
