import { describe, expect, it } from 'vitest';
import {
  type ConfigSource,
  type SourceDecision,
  type SourceEvent,
  sourceProblem,
  sourceWakeAt,
  startConfigSource,
  stepConfigSource,
} from '../../../src/cli/config-source.js';
import { judgeText, type LoadedConfig } from '../../../src/cli/load-service-config.js';

const path = 'sc.json';
const entry = (service: string, maxAttempts: number): unknown => ({
  name: [{ service }],
  retryPolicy: {
    maxAttempts,
    initialBackoff: '0.1s',
    maxBackoff: '1s',
    backoffMultiplier: 2,
    retryableStatusCodes: ['UNAVAILABLE'],
  },
});
const configOf = (...entries: readonly unknown[]): string => JSON.stringify({ methodConfig: entries });
const first = configOf(entry('a.B', 2));
const second = configOf(entry('a.B', 3));
/** One of two entries is broken. */
const broken = configOf(entry('a.B', 4), entry('a.C', 1));
const half = second.slice(0, 40);
const gone = { type: 'readFailed', problem: 'sc.json: no such file' } as const;

function loaded(text: string): LoadedConfig {
  const judged = judgeText(path, text, 5);
  if (!judged.ok) throw new Error(judged.problem);
  return judged;
}

const none: LoadedConfig = { ...loaded('{}'), path: null };

/** A source with a clock that the test moves, and all that it decided. */
class Run {
  now = 1000;
  source: ConfigSource;
  decisions: SourceDecision[] = [];

  constructor(from: LoadedConfig = loaded(first)) {
    this.source = startConfigSource(path, from, this.now);
  }

  on(event: SourceEvent): this {
    const step = stepConfigSource(this.source, event, this.now);
    this.source = step.source;
    this.decisions.push(...step.decisions);
    return this;
  }

  /** Lets time pass until the next read is due, and begins it. */
  wake(): this {
    this.now = sourceWakeAt(this.source) ?? Number.NaN;
    return this.on({ type: 'woke' });
  }

  /** The file changes, becomes quiet and is read. */
  change(text: string): this {
    return this.on({ type: 'changed' }).wake().on({ type: 'read', text });
  }

  /** So often as bad news need, to be believed. */
  changeTwice(text: string): this {
    return this.change(text).wake().on({ type: 'read', text });
  }

  get kinds(): string[] {
    return this.decisions.splice(0).map((decision) => (decision.type === 'tell' ? decision.level : decision.type));
  }

  get lines(): (SourceDecision & { type: 'tell' })[] {
    return this.decisions.splice(0).filter((decision) => decision.type === 'tell');
  }
}

describe('a changed text', () => {
  it('that is valid is put in force, with one line: the version, the one before, what calls will notice', () => {
    const run = new Run().change(second);
    const { version } = loaded(second);
    expect(run.decisions.filter(({ type }) => type === 'apply')).toEqual([
      { type: 'apply', config: loaded(second).config },
    ]);
    expect(run.source.inForce).toEqual(loaded(second));
    expect(run.lines).toEqual([
      {
        type: 'tell',
        level: 'info',
        fields: {
          config: { path, version, methods: 1 },
          previous: loaded(first).version,
          changes: ['/a.B/*: maxAttempts 2 → 3'],
        },
        message: `service config sc.json: version ${version} in force, ${loaded(first).version} before; 1 change`,
      },
    ]);
    expect(sourceWakeAt(run.source)).toBeNull();
  });

  it('with the meaning that it had is a new version in which no method changed', () => {
    const [line] = new Run().change(`${first}\n`).lines;
    expect(line?.message).toMatch(/in force, \w{12} before; no method changed$/);
    expect(line?.fields).toMatchObject({ changes: [] });
  });

  it('that is the old text changes nothing and says nothing', () => {
    const run = new Run().change(first);
    expect(run.kinds).toEqual(['read']);
    expect(run.source).toEqual(new Run().source);
  });

  it.each([
    [20, 20, /^\/s\.S19/],
    [23, 21, /^and 3 more$/],
  ])('of %i changes tells %i lines', (count, lines, last) => {
    const services = Array.from({ length: count }, (_, i) => entry(`s.S${i}`, 2));
    const [line] = new Run(loaded(configOf(...services))).change('{}').lines;
    const changes = line?.fields['changes'];
    expect(Array.isArray(changes) ? [changes.length, changes.at(-1)] : []).toEqual([
      lines,
      expect.stringMatching(last),
    ]);
    expect(line?.message).toMatch(new RegExp(`; ${count} changes$`));
  });

  it('tells its warnings, each with its place', () => {
    const levels = new Run().change('{\n  "methodConfgi": []\n}').lines.map(({ level, message }) => [level, message]);
    expect(levels).toEqual([
      ['warn', expect.stringMatching(/^sc\.json:2:\d+: warning: methodConfgi: /)],
      ['info', expect.any(String)],
    ]);
  });
});

describe('a broken text', () => {
  it('CFG-08: with one broken entry of two leaves all of the old config in force, and says so with the first error', () => {
    const run = new Run().changeTwice(broken);
    expect(run.source.inForce).toEqual(loaded(first));
    const [line, ...more] = run.lines;
    expect(more).toEqual([]);
    expect(line?.level).toBe('warn');
    expect(line?.message).toMatch(
      new RegExp(
        `^service config rejected, version ${loaded(first).version} stays in force: ` +
          'sc\\.json:1:\\d+: error: methodConfig\\[1\\]\\.retryPolicy\\.maxAttempts: .*\\[out-of-range\\]$',
      ),
    );
    expect(run.source.rejected).toMatchObject({
      version: expect.stringMatching(/^[0-9a-f]{12}$/),
      findings: [{ path: 'methodConfig[1].retryPolicy.maxAttempts' }],
      at: run.now,
    });
  });

  it('CFG-08: is told once, however often the file is touched, and again when it is another one', () => {
    const run = new Run().changeTwice(broken);
    const { rejected } = run.source;
    run.decisions = [];
    run.now += 60_000;
    expect(run.change(broken).kinds).toEqual(['read']);
    expect(run.source.rejected).toEqual(rejected);
    expect(sourceWakeAt(run.source)).toBeNull();
    expect(run.changeTwice('{').kinds).toEqual(['read', 'read', 'warn']);
  });

  it('is not believed at its first read: the rest of the file may be on its way', () => {
    const run = new Run().change(half);
    expect(run.kinds).toEqual(['read']);
    expect(run.source.rejected).toBeNull();
    const heard = run.now;
    run.wake().on({ type: 'read', text: second });
    expect(run.now - heard).toBe(250);
    expect(run.kinds).toEqual(['read', 'apply', 'info']);
    expect(run.source).toMatchObject({ trouble: null, doubted: null, rejected: null });
  });

  it('is not believed while it grows, nor when the file changed during the second read', () => {
    const run = new Run().change(half.slice(0, 10)).wake().on({ type: 'read', text: half });
    run.wake().on({ type: 'changed' }).on({ type: 'read', text: half });
    expect(run.kinds).toEqual(['read', 'read', 'read']);
    expect(run.wake().on({ type: 'read', text: half }).kinds).toEqual(['read', 'warn']);
  });

  it('is read again when the next change is quiet, where that comes before the second read', () => {
    const run = new Run().change(half);
    run.now += 100;
    run.on({ type: 'changed' });
    expect(sourceWakeAt(run.source)).toBe(run.now + 50);
  });

  it('that is mended to the text in force is one line, and nothing is applied', () => {
    const run = new Run().changeTwice(broken);
    run.decisions = [];
    run.change(first);
    expect(run.lines.map(({ level, message }) => [level, message])).toEqual([
      ['info', `service config sc.json is again the one in force, version ${loaded(first).version}`],
    ]);
    expect(run.source).toMatchObject({ trouble: null, rejected: { findings: [{ severity: 'error' }] } });
  });
});

describe('a file that cannot be read', () => {
  it('leaves the last good config in force and is told once', () => {
    const run = new Run().on({ type: 'changed' }).wake().on(gone);
    expect(run.kinds).toEqual(['read']);
    run.wake().on(gone);
    expect(run.lines.map(({ level, message }) => [level, message])).toEqual([
      ['warn', `service config cannot be read, version ${loaded(first).version} stays in force: sc.json: no such file`],
    ]);
    expect(run.on({ type: 'changed' }).wake().on(gone).kinds).toEqual(['read']);
    expect(run.source.inForce).toEqual(loaded(first));
  });

  it('now and then, while what it holds is known to be broken, is no news', () => {
    const run = new Run().changeTwice(broken).on({ type: 'changed' }).wake().on(gone).wake();
    run.on({ type: 'read', text: broken }).on({ type: 'changed' }).wake().on(gone).wake();
    run.on({ type: 'read', text: broken });
    expect(run.kinds.filter((kind) => kind !== 'read')).toEqual(['warn']);
  });

  it('for the moment in which it is replaced is no news', () => {
    const run = new Run().on({ type: 'changed' }).wake().on(gone).wake().on({ type: 'read', text: first });
    expect(run.kinds).toEqual(['read', 'read']);
    expect(run.source).toEqual(new Run().source);
  });

  it('that was not there at the start is no news; it is taken up when it appears, even with the text {}', () => {
    const run = new Run(none).on({ type: 'changed' }).wake().on(gone);
    expect(run.kinds).toEqual(['read']);
    expect(sourceWakeAt(run.source)).toBeNull();
    run.change('{}');
    expect(run.source.inForce.path).toBe(path);
    expect(run.lines.map(({ message, fields }) => [message, fields['previous']])).toEqual([
      [expect.stringMatching(/in force, there was none before; no method changed$/), null],
    ]);
  });

  it('that appears broken leaves {} in force', () => {
    const run = new Run(none).changeTwice(broken);
    expect(run.kinds).toEqual(['read', 'read', 'warn']);
    expect(run.source.inForce).toEqual(none);
  });
});

describe('when it is read', () => {
  it('50 ms after the last change, at the latest a second after the first', () => {
    const run = new Run();
    run.on({ type: 'changed' });
    const begun = run.now;
    run.now += 40;
    run.on({ type: 'changed' });
    expect(sourceWakeAt(run.source)).toBe(begun + 90);
    expect(run.on({ type: 'woke' }).kinds).toEqual([]);
    for (let i = 0; i < 30; i += 1) {
      run.now += 40;
      run.on({ type: 'changed' });
    }
    expect(sourceWakeAt(run.source)).toBe(begun + 1000);
    expect(run.on({ type: 'woke' }).kinds).toEqual(['read']);
  });

  it('one read at a time: what changes during one is read after it', () => {
    const run = new Run().on({ type: 'changed' }).wake();
    run.now += 100;
    run.on({ type: 'changed' });
    expect(sourceWakeAt(run.source)).toBeNull();
    run.on({ type: 'asked' });
    run.now += 100;
    expect(run.on({ type: 'woke' }).kinds).toEqual(['read']);
    run.on({ type: 'read', text: first });
    expect(run.kinds).toEqual(['read']);
    run.on({ type: 'read', text: second });
    expect(run.kinds).toEqual(['apply', 'info']);
    expect(run.wake().on({ type: 'read', text: second }).kinds).toEqual(['read']);
    expect(sourceWakeAt(run.source)).toBeNull();
  });
});

describe('SIGHUP', () => {
  it('reads at once and tells that nothing changed', () => {
    const run = new Run().on({ type: 'asked' });
    expect(run.decisions).toEqual([{ type: 'read' }]);
    run.on({ type: 'read', text: first });
    expect(run.lines.map(({ level, message }) => [level, message])).toEqual([
      ['info', `service config sc.json: unchanged, version ${loaded(first).version}`],
    ]);
  });

  it('that comes while another is answered is answered too', () => {
    const run = new Run().on({ type: 'asked' }).on({ type: 'asked' }).on({ type: 'read', text: first });
    expect(run.kinds).toEqual(['read', 'info', 'read']);
    expect(run.on({ type: 'read', text: first }).kinds).toEqual(['info']);
    expect(run.change(first).kinds).toEqual(['read']);
  });

  it('believes what it reads, and tells again what is known', () => {
    const run = new Run().on({ type: 'asked' }).on({ type: 'read', text: broken });
    expect(run.kinds).toEqual(['read', 'warn']);
    expect(run.on({ type: 'asked' }).on({ type: 'read', text: broken }).kinds).toEqual(['read', 'warn']);
    expect(run.on({ type: 'asked' }).on(gone).kinds).toEqual(['read', 'warn']);
    expect(run.on({ type: 'asked' }).on({ type: 'read', text: second }).kinds).toEqual(['read', 'apply', 'info']);
    expect(run.change(broken).kinds).toEqual(['read']);
  });

  it('leaves the read due that follows a change', () => {
    const run = new Run().on({ type: 'changed' });
    const due = sourceWakeAt(run.source);
    run.on({ type: 'asked' }).on({ type: 'read', text: first });
    expect(sourceWakeAt(run.source)).toBe(due);
  });
});

describe('what is told of it', () => {
  it('ADM-22: is since when it has been in force, and why the file is not', () => {
    const run = new Run();
    expect([run.source.appliedAt, sourceProblem(run.source)]).toEqual([1000, null]);
    run.now = 2000;
    run.on({ type: 'asked' }).on({ type: 'read', text: second });
    run.now = 3000;
    run.on({ type: 'asked' }).on({ type: 'read', text: broken });
    expect(run.source).toMatchObject({
      appliedAt: 2000,
      rejected: { at: 3000, findings: [{ severity: 'error' }] },
    });
    expect(sourceProblem(run.source)).toMatch(/^sc\.json:1:\d+: error: methodConfig\[1\]\.retryPolicy\.maxAttempts: /);
    run.on({ type: 'asked' }).on(gone);
    expect(sourceProblem(run.source)).toBe('sc.json: no such file');
    run.on({ type: 'asked' }).on({ type: 'read', text: second });
    expect([sourceProblem(run.source), run.source.appliedAt]).toEqual([null, 2000]);
  });

  it('ADM-25: a file that need not be there and is not is no problem when it is asked for', () => {
    const run = new Run(none).on({ type: 'asked' }).on(gone);
    expect(run.lines.map(({ level, message }) => [level, message])).toEqual([
      ['info', 'service config sc.json: no such file; {} stays in force'],
    ]);
    expect(sourceProblem(run.source)).toBeNull();
    run.on({ type: 'asked' }).on({ type: 'readFailed', problem: 'sc.json: no permission to read it' });
    expect(run.lines.at(-1)?.level).toBe('warn');
    expect(sourceProblem(run.source)).toBe('sc.json: no permission to read it');
  });
});
