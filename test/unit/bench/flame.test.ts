import { describe, expect, it } from 'vitest';
import { type CpuProfile, flameGraph, frameTree, hottest, withoutStart } from '../../../bench/figures/flame.mjs';

function node(id: number, functionName: string, children: number[] = [], url = ''): CpuProfile['nodes'][number] {
  return { id, callFrame: { functionName, url, lineNumber: 9 }, children };
}

const profile: CpuProfile = {
  nodes: [
    node(1, '(root)', [2, 3, 4, 6]),
    node(2, '(idle)'),
    node(3, 'read', [5], 'file:///somewhere/of/mine/dist/http2/reader.js'),
    node(4, 'write'),
    node(5, 'decode'),
    node(6, 'write'),
  ],
  samples: [2, 3, 5, 4, 6],
  timeDeltas: [500, 10, 30, 40, 20],
};

describe('the flame graph of the bench', () => {
  it('adds up what functions took, with what they called, without idle time', () => {
    const root = frameTree(profile);
    expect(root.total).toBe(100);
    const read = root.children.get('read dist/http2/reader.js:10');
    expect([read?.self, read?.total]).toEqual([10, 40]);
  });

  it('puts children of one name together', () => {
    expect(frameTree(profile).children.get('write')?.self).toBe(60);
  });

  it('leaves out the time in which the program starts', () => {
    expect(frameTree(withoutStart(profile, 540)).total).toBe(60);
    expect(frameTree(withoutStart(profile, 0)).total).toBe(100);
    expect(frameTree(withoutStart(profile, 1e9)).total).toBe(0);
  });

  it('lists where time went by itself, most first', () => {
    expect(hottest(frameTree(profile)).map(({ name, share }) => [name, share])).toEqual([
      ['write', 0.6],
      ['decode', 0.3],
      ['read dist/http2/reader.js:10', 0.1],
    ]);
  });

  it('draws each frame as wide as its share', () => {
    const svg = flameGraph(frameTree(profile), 'calls <busy>');
    expect(svg).toContain('calls &lt;busy&gt;');
    expect(svg).toMatch(/<title>write: 60\.0 %<\/title><rect [^>]*width="959\.5"/);
    expect(svg).not.toContain('somewhere');
  });

  it('draws no frame narrower than a pixel, and nothing at all of no samples', () => {
    const long = { ...profile, timeDeltas: [0, 10, 30, 400_000, 20] };
    expect(flameGraph(frameTree(long), 't')).not.toContain('decode');
    expect(flameGraph(frameTree({ ...profile, samples: [], timeDeltas: [] }), 't')).not.toMatch(/NaN/);
  });

  it('takes stacks deeper than the engine allows recursion', () => {
    const deep = 50_000;
    const nodes = Array.from({ length: deep }, (_, i) => node(i, `f${i}`, i + 1 < deep ? [i + 1] : []));
    expect(frameTree({ nodes, samples: [deep - 1], timeDeltas: [7] }).total).toBe(7);
  });
});
