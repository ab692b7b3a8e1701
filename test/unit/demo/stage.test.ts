import { expect, test } from 'vitest';
import { createStage, type Part } from '../../../src/demo/stage.js';

const first: Part = { pace: 1, failure: null };
const second: Part = { pace: 2, failure: null };

test('attempts play the parts in the order in which they come, further ones the last', () => {
  const stage = createStage();
  stage.set([first, second]);
  expect(['oak', 'elm', 'oak'].map((backend) => stage.enter({ backend, previous: null }))).toEqual([
    first,
    second,
    second,
  ]);
});

test('a new call begins anew, and has seen nobody', () => {
  const stage = createStage();
  stage.set([first, second]);
  stage.enter({ backend: 'oak', previous: null });
  stage.set([first, second]);
  expect(stage.arrivals).toEqual([]);
  expect(stage.enter({ backend: 'elm', previous: '1' })).toBe(first);
  expect(stage.arrivals).toEqual([{ backend: 'elm', previous: '1' }]);
});
