import { describe, expect, it } from 'vitest';
import { barChart } from '../../../bench/figures/picture.mjs';
import { spread } from '../../../bench/figures/statistics.mjs';

function chart(bound?: number): string {
  return barChart({
    title: 'CPU <per> call',
    unit: 'µs',
    better: 'less',
    bars: [
      { label: 'hedgerow', spread: spread([5, 5, 5]), ours: true },
      { label: 'another & more', spread: spread([8, 10, 9]), ours: false },
      { label: 'absent', spread: spread([]), ours: false, missing: 'not installed' },
    ],
    ...(bound === undefined ? {} : { bound }),
  });
}

describe('the pictures of the bench', () => {
  it('draws bars in proportion, up to the greatest of all rounds', () => {
    const [ours, theirs] = [...chart().matchAll(/<rect class="(?:ours|bar)"[^>]* width="([\d.]+)"/g)].map((m) =>
      Number(m[1]),
    );
    expect((ours ?? 0) / (theirs ?? 0)).toBeCloseTo(5 / 9, 2);
  });

  it('marks ours, and says of what has no figure why', () => {
    expect(chart().match(/class="ours"/g)).toHaveLength(1);
    expect(chart()).toContain('not installed');
  });

  it('is well-formed whatever the names, and without figures', () => {
    expect(chart()).toContain('CPU &lt;per&gt; call');
    expect(chart()).toContain('another &amp; more');
    const empty = { label: 'absent', spread: spread([]), ours: false };
    expect(barChart({ title: 't', unit: 'u', better: 'more', bars: [empty] })).not.toMatch(/NaN|Infinity/);
  });

  it('keeps room for the longest name, within the picture', () => {
    const label = 'a name that is rather longer than the others';
    const svg = barChart({
      title: 't',
      unit: 'u',
      better: 'less',
      bars: [{ label, spread: spread([1]), ours: true }],
    });
    const end = /<text x="([\d.]+)" y="\d+" text-anchor="end"/.exec(svg)?.[1];
    expect(Number(end)).toBeGreaterThan(label.length * 6);
  });

  it('has colours for dark pages', () => {
    expect(chart()).toContain('prefers-color-scheme: dark');
  });

  it('draws a bound across the bars, within the picture', () => {
    expect(chart()).not.toContain('class="bound"');
    expect(chart(20)).toMatch(/class="bound" x1="610"/);
  });
});
