import { describe, expect, it } from 'vitest';
import type { AttemptEnd } from '../../../src/grpc/attempt-facts.js';
import { parseScript, type Script } from '../../../src/sim/script.js';

function read(text: string): Script {
  const parsed = parseScript(text);
  if (!parsed.ok) throw new Error(parsed.problem);
  return parsed.value;
}

/** The ends as `code reach by pushback @time`. */
function ends(text: string): (string | null)[] {
  return read(text).outcomes.map(({ end }) => (end === null ? null : `${inWords(end.how)} @${end.at}`));
}

function inWords({ code, reach, by, pushback }: AttemptEnd): string {
  return [code, reach, by, pushback.kind === 'after' ? pushback.ms : pushback.kind].join(' ');
}

function problem(text: string): string {
  const parsed = parseScript(text);
  return parsed.ok ? 'no problem' : parsed.problem;
}

describe('a script', () => {
  it.each([
    ['14@10ms', '14 processed backend none @10'],
    ['UNAVAILABLE@10', '14 processed backend none @10'],
    ['unavailable@1.5s', '14 processed backend none @1500'],
    ['Deadline_Exceeded@0.25', '4 processed backend none @0.25'],
    ['0@2m', '0 processed backend none @120000'],
    ['300@1', '300 processed backend none @1'],
    ['refused@5', '14 refused backend none @5'],
    ['14@5:refused', '14 refused backend none @5'],
    ['LOST@5', '14 processed loss none @5'],
    ['unavailable@5:lost', '14 processed loss none @5'],
    ['unsent@0', '14 unsent loss none @0'],
    ['unplaced@3', '14 unplaced proxy none @3'],
    ['  14@1  ', '14 processed backend none @1'],
  ])('%s', (text, end) => {
    expect(ends(text)).toEqual([end]);
  });

  it.each([
    ['50', '50'],
    ['0', '0'],
    ['-1', 'never'],
    ['abc', 'never'],
    ['', 'never'],
    ['007', 'never'],
    ['2147483647', '2147483647'],
    ['2147483648', 'never'],
  ])('pushback=%s is read as the trailer is', (value, meaning) => {
    expect(ends(`14@5:pushback=${value}`)).toEqual([`14 processed backend ${meaning} @5`]);
    expect(ends(`14@5:headers=1:pushback=${value}`)).toEqual([`14 processed backend ${meaning} @5`]);
  });

  it('two pushbacks on one outcome are two lines, which mean never', () => {
    expect(ends('14@5:pushback=50:pushback=50')).toEqual(['14 processed backend never @5']);
  });

  it('headers come before the end, or with it, in either spelling', () => {
    const { outcomes } = read('0@20:headers=5ms,0@20:headers@20,lost@9:headers=3,silent:headers=7,0@1');
    expect(outcomes.map(({ headersAt }) => headersAt)).toEqual([5, 20, 3, 7, null]);
  });

  it('outcomes stand in their order, and cancel is the client’s', () => {
    expect(ends('silent,14@1,SILENT')).toEqual([null, '14 processed backend none @1', null]);
    expect(read('silent')).toMatchObject({ cancelAt: null });
    expect(read('14@1, cancel@30ms')).toMatchObject({ cancelAt: 30, outcomes: [{}] });
    expect(read('CANCEL@0')).toEqual({ cancelAt: 0, outcomes: [] });
  });

  it('CANCELLED is a status, and no cancel', () => {
    expect(ends('cancelled@3')).toEqual(['1 processed backend none @3']);
  });
});

describe('a bad script is told with its place', () => {
  it.each([
    ['', 'at character 1: an outcome is missing'],
    ['14@1,', 'at character 6: an outcome is missing'],
    ['14@1, ,0@1', 'at character 7: an outcome is missing'],
    ['14', 'at character 1, "14": 14@TIME needs the time since the attempt\'s start'],
    ['14@', 'at character 1, "14@": 14@TIME needs the time since the attempt\'s start'],
    ['14@10ms,  15x@3', 'at character 11, "15x@3": "15x" is no status, name or number'],
    [
      'UNAVAILABEL@3',
      'at character 1, "UNAVAILABEL@3": "UNAVAILABEL" is no status, name or number; did you mean UNAVAILABLE?',
    ],
    ['refusd@3', 'at character 1, "refusd@3": "refusd" is no status, name or number; did you mean refused?'],
    ['14@soon', 'at character 1, "14@soon": "soon" is no time; write 10ms, 1.5s, or 10 for milliseconds'],
    ['14@-1', 'at character 1, "14@-1": "-1" is no time; write 10ms, 1.5s, or 10 for milliseconds'],
    ['14@1@2', 'at character 1, "14@1@2": one "@TIME" an outcome'],
    ['14@5:pushbck=1', 'at character 1, "14@5:pushbck=1": unknown option "pushbck"; did you mean pushback?'],
    [
      '14@5:x',
      'at character 1, "14@5:x": unknown option "x"; options are pushback, headers, refused, lost, unsent, unplaced',
    ],
    ['14@5:pushback', 'at character 1, "14@5:pushback": pushback=VALUE needs the text of the trailer'],
    ['14@5:headers', 'at character 1, "14@5:headers": headers=TIME needs the time since the attempt\'s start'],
    ['14@5:headers=6', 'at character 1, "14@5:headers=6": its headers come after its end'],
    ['14@5:headers=1:headers=2', 'at character 1, "14@5:headers=1:headers=2": headers come once'],
    ['13@5:refused', 'at character 1, "13@5:refused": what is refused ends UNAVAILABLE: write refused@TIME'],
    ['14@5:refused=1', 'at character 1, "14@5:refused=1": refused takes no value'],
    ['14@5:refused:lost', 'at character 1, "14@5:refused:lost": refused and lost: one of them'],
    ['refused@5:lost', 'at character 1, "refused@5:lost": refused and lost: one of them'],
    ['refused@5:pushback=1', 'at character 1, "refused@5:pushback=1": what is refused has no trailers, so no pushback'],
    ['unplaced@5:headers=1', 'at character 1, "unplaced@5:headers=1": what is unplaced has no headers'],
    ['silent@5', 'at character 1, "silent@5": silent never ends: leave its time out'],
    ['silent:refused', 'at character 1, "silent:refused": silent never ends: headers=TIME is its only option'],
    ['silent:pushback=1', 'at character 1, "silent:pushback=1": silent never ends: headers=TIME is its only option'],
    ['cancel', 'at character 1, "cancel": cancel@TIME needs the time since the call began'],
    ['cancel@5,14@1', 'at character 10, "14@1": cancel is the last item: nothing follows it'],
    ['14@1,\u001b[31m@2', 'at character 6, "\\u001b[31m@2": "\\u001b[31m" is no status, name or number'],
  ])('%j', (text, words) => {
    expect(problem(text)).toBe(words);
  });

  it('an outcome as long as a book is cut in the message', () => {
    expect(problem(`14@1:pushbac=${'x'.repeat(5000)}`).length).toBeLessThan(200);
  });
});
