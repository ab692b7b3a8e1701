import { describe, expect, it } from 'vitest';
import type { BackendEntry, SetDifference } from '../../../src/upstream/backend-set.js';
import type { HostName, Lookup } from '../../../src/upstream/lookup.js';
import type { Answer } from '../../../src/upstream/resolution.js';
import { type BackendSources, createBackendSources } from '../../../src/upstream/sources.js';
import type { Endpoint } from '../../../src/upstream/types.js';
import { createVirtualTime, type VirtualTime } from '../../support/virtual-time.js';

/** Look-ups that the test answers. */
class Names {
  readonly asked: string[] = [];
  readonly stopped: string[] = [];
  private readonly waiting = new Map<string, { answer: (answer: Answer) => void; fail: (error: Error) => void }>();
  readonly lookup = ({ host }: HostName): Lookup => ({
    ask: () => {
      this.asked.push(host);
      return new Promise((answer, fail) => this.waiting.set(host, { answer, fail }));
    },
    stop: () => this.stopped.push(host),
  });

  async answer(host: string, ...addresses: string[]): Promise<void> {
    this.waiting.get(host)?.answer({ addresses, unsure: null });
    await settled();
  }

  async fail(host: string, problem: string): Promise<void> {
    this.waiting.get(host)?.fail(new Error(problem));
    await settled();
  }
}

/** What was promised has been told. */
async function settled(): Promise<void> {
  for (let i = 0; i < 5; i += 1) await Promise.resolve();
}

interface Scene {
  readonly time: VirtualTime;
  readonly names: Names;
  readonly sources: BackendSources;
  readonly lines: string[];
  /** What look-ups came to. */
  readonly outcomes: string[];
  readonly changes: SetDifference[];
  /** The names that there were whenever they had become others. */
  readonly namings: (readonly string[])[];
  ids(): readonly string[];
}

const none = { weight: 1, priority: 0, maxCalls: null };

function at(name: string, host: string): BackendEntry {
  const endpoint = { kind: 'tcp', host, port: 7 } as const;
  return { name, target: `${host}:7`, where: { kind: 'one', endpoint }, ...none };
}

function named(name: string, host: string): BackendEntry {
  return { name, target: `${host}:7`, where: { kind: 'name', host, port: 7, authority: null }, ...none };
}

function scene(flags: readonly BackendEntry[], own: (endpoint: Endpoint) => string | null = () => null): Scene {
  const time = createVirtualTime();
  const names = new Names();
  const lines: string[] = [];
  const changes: SetDifference[] = [];
  const outcomes: string[] = [];
  const namings: (readonly string[])[] = [];
  let begun = false;
  const sources: BackendSources = createBackendSources(
    {
      sources: [
        { name: '--backend', entries: flags },
        { name: 'f.json', entries: [] },
      ],
      dnsRefresh: 30_000,
    },
    { ...time, random: { next: () => 0.5 }, lookup: names.lookup, own },
    {
      tell: (level, _fields, message) => lines.push(`${level} ${message}`),
      onResolved: (outcome) => outcomes.push(outcome),
      onNames: () => {
        if (begun) namings.push([...sources.names()].map(([name, source]) => `${name} of ${source}`));
      },
    },
  );
  begun = true;
  sources.onChange((_backends, difference) => changes.push(difference));
  const ids = () => sources.specs().map(({ id }) => id);
  return { time, names, sources, lines, outcomes, changes, namings, ids };
}

describe('the sources of backends', () => {
  it('addresses are there before the start, names when they have been resolved', async () => {
    const { names, sources, ids, changes, lines } = scene([
      at('a', '10.0.0.1'),
      named('g', 'g.test'),
      at('b', '10.0.0.2'),
    ]);
    expect(ids()).toEqual(['a', 'b']);
    expect(names.asked).toEqual([]);
    void sources.start();
    expect(names.asked).toEqual(['g.test']);
    expect(sources.has('g')).toBe(true);
    await names.answer('g.test', '10.1.0.1', '10.1.0.2');
    // In the order of the flags.
    expect(ids()).toEqual(['a', 'g/10.1.0.1:7', 'g/10.1.0.2:7', 'b']);
    expect(changes).toEqual([{ added: ['g/10.1.0.1:7', 'g/10.1.0.2:7'], removed: [], changed: [] }]);
    expect(lines).toEqual(['info backends: added g/10.1.0.1:7, g/10.1.0.2:7']);
  });

  it('FND-04: a name that leads elsewhere adds and removes members, and touches nobody else', async () => {
    const { time, names, sources, ids, changes, lines } = scene([named('g', 'g.test'), at('a', '10.0.0.1')]);
    void sources.start();
    await names.answer('g.test', '10.1.0.1', '10.1.0.2');
    time.advance(30_000);
    await names.answer('g.test', '10.1.0.3', '10.1.0.2');
    expect(ids()).toEqual(['g/10.1.0.2:7', 'g/10.1.0.3:7', 'a']);
    expect(changes[1]).toEqual({ added: ['g/10.1.0.3:7'], removed: ['g/10.1.0.1:7'], changed: [] });
    expect(lines[1]).toBe('info backends: added g/10.1.0.3:7; removed g/10.1.0.1:7');
  });

  it('FND-25: the start is over when each name has been answered for, well or not', async () => {
    const { names, sources } = scene([named('g', 'g.test'), named('h', 'h.test'), at('a', '10.0.0.1')]);
    let over = false;
    const started = sources.start().then(() => {
      over = true;
    });
    await names.answer('g.test', '10.1.0.1');
    expect(over).toBe(false);
    await names.fail('h.test', 'no such name');
    await started;
    expect(over).toBe(true);
    await scene([at('a', '10.0.0.1')]).sources.start();
  });

  it('FND-25: a name that is taken away meanwhile is not waited for, and is asked anew where it comes back', async () => {
    const { names, sources } = scene([]);
    sources.put('f.json', [named('g', 'g.test'), named('h', 'h.test')]);
    let over = false;
    const started = sources.start().then(() => {
      over = true;
    });
    await names.answer('g.test', '10.1.0.1');
    sources.put('f.json', [named('h', 'h.test')]);
    sources.put('f.json', [named('g', 'g.test'), named('h', 'h.test')]);
    await names.answer('h.test', '10.2.0.1');
    expect(over).toBe(false);
    sources.put('f.json', [named('h', 'h.test')]);
    await started;
    expect(over).toBe(true);
  });

  it('FND-08: a failed look-up is told with what stays, and when it is over', async () => {
    const { time, names, sources, ids, lines } = scene([named('g', 'g.test')]);
    void sources.start();
    await names.fail('g.test', 'no such name');
    time.advance(1000);
    await names.answer('g.test', '10.1.0.1');
    time.advance(30_000);
    await names.fail('g.test', 'no answer from the DNS server');
    expect(ids()).toEqual(['g/10.1.0.1:7']);
    expect(lines).toEqual([
      'warn g: g.test:7 cannot be resolved: no such name; it has no members yet',
      'info backends: added g/10.1.0.1:7',
      'info g: g.test:7 is resolved again',
      'warn g: g.test:7 cannot be resolved: no answer from the DNS server; its last known member stays',
    ]);
  });

  it('look-ups are told for the metrics by what they came to', async () => {
    const { time, names, sources, outcomes } = scene([named('g', 'g.test')]);
    void sources.start();
    await names.answer('g.test', '10.1.0.1');
    time.advance(30_000);
    await names.answer('g.test', '10.1.0.1');
    time.advance(30_000);
    await names.fail('g.test', 'no such name');
    time.advance(1000);
    // No addresses at all are a failure.
    await names.answer('g.test');
    expect(outcomes).toEqual(['changed', 'unchanged', 'failed', 'failed']);
  });

  it('FND-06: a lost connection has its own name resolved again, and no other', async () => {
    const { time, names, sources } = scene([named('g', 'g.test'), named('h', 'h.test'), at('a', '10.0.0.1')]);
    void sources.start();
    await names.answer('g.test', '10.1.0.1');
    await names.answer('h.test', '10.1.0.2');
    time.advance(5000);
    for (const name of ['a', 'nobody', 'g', 'g']) sources.refresh(name);
    expect(names.asked).toEqual(['g.test', 'h.test', 'g.test']);
  });

  it('every name is resolved again when asked by hand', async () => {
    const { names, sources } = scene([named('g', 'g.test'), named('h', 'h.test')]);
    void sources.start();
    await names.answer('g.test', '10.1.0.1');
    await names.answer('h.test', '10.1.0.2');
    sources.refreshAll();
    expect(names.asked).toEqual(['g.test', 'h.test', 'g.test', 'h.test']);
  });

  it('ADM-25: who asks by hand hears what came of each name', async () => {
    const { names, sources } = scene([named('g', 'g.test'), named('h', 'h.test'), named('i', 'i.test')]);
    void sources.start();
    for (const [at, host] of ['g.test', 'h.test', 'i.test'].entries()) await names.answer(host, `10.1.0.${at}`);
    const results = sources.refreshAll().map(({ name, target, resolved }) => {
      return resolved.then((result) => [name, target, result] as const);
    });
    await names.answer('g.test', '10.1.0.9');
    await names.fail('h.test', 'no such name');
    sources.stop();
    expect(await Promise.all(results)).toEqual([
      ['g', 'g.test:7', { outcome: 'changed', problem: null }],
      ['h', 'h.test:7', { outcome: 'failed', problem: 'no such name' }],
      ['i', 'i.test:7', null],
    ]);
    expect(sources.refreshAll()).toEqual([]);
  });

  it('FND-12: names that come, go or change hands are told of, those that lead to nobody yet too', () => {
    const { sources, namings, ids } = scene([at('a', '10.0.0.1')]);
    sources.put('f.json', [named('g', 'g.test')]);
    sources.put('f.json', [named('g', 'h.test')]);
    expect(ids()).toEqual(['a']);
    sources.put('--backend', [at('g', '10.0.0.2')]);
    expect(namings).toEqual([['a of --backend', 'g of f.json'], ['g of --backend']]);
  });

  it('FND-12: another source adds backends; a name that is taken has no effect there, told once', () => {
    const { sources, ids, lines } = scene([at('a', '10.0.0.1')]);
    void sources.start();
    for (let i = 0; i < 2; i += 1) sources.put('f.json', [at('a', '10.0.0.9'), at('b', '10.0.0.2')]);
    expect(ids()).toEqual(['a', 'b']);
    expect(sources.specs()[0]?.endpoint).toMatchObject({ host: '10.0.0.1' });
    expect(sources.ownerOf('a')).toBe('--backend');
    expect(sources.ownerOf('b')).toBe('f.json');
    expect(sources.ownerOf('c')).toBeNull();
    expect(lines).toEqual([
      'warn f.json: the backend a has no effect: --backend has one of that name',
      'info backends: added b',
    ]);
    sources.put('f.json', []);
    sources.put('f.json', [at('a', '10.0.0.9')]);
    expect(lines.slice(2)).toEqual(['info backends: removed b', lines[0]]);
  });

  it('FND-13: a member that is ourselves is left out, told once; the others stay', async () => {
    const own = (endpoint: Endpoint): string | null =>
      endpoint.kind === 'tcp' && endpoint.host === '127.0.0.1'
        ? 'is our own listener 127.0.0.1:7: calls would go round'
        : null;
    const { time, names, sources, ids, lines } = scene([named('g', 'g.test')], own);
    void sources.start();
    await names.answer('g.test', '127.0.0.1', '10.1.0.1');
    time.advance(30_000);
    await names.answer('g.test', '127.0.0.1', '10.1.0.1', '10.1.0.2');
    expect(ids()).toEqual(['g/10.1.0.1:7', 'g/10.1.0.2:7']);
    expect(lines.filter((line) => line.startsWith('warn'))).toEqual([
      'warn g/127.0.0.1:7 is left out: g.test:7 leads to 127.0.0.1:7, which is our own listener 127.0.0.1:7: calls would go round',
    ]);
  });

  it('FND-13: an address that turns out to be ours at the start is left out then', () => {
    let bound = false;
    const { sources, ids } = scene([at('a', '127.0.0.1'), at('b', '10.0.0.1')], ({ kind, ...endpoint }) =>
      bound && kind === 'tcp' && 'host' in endpoint && endpoint.host === '127.0.0.1' ? 'is our own listener' : null,
    );
    expect(ids()).toEqual(['a', 'b']);
    bound = true;
    void sources.start();
    expect(ids()).toEqual(['b']);
  });

  it('a name that is another keeps its members until the new one has been resolved', async () => {
    const { names, sources, ids } = scene([]);
    void sources.start();
    sources.put('f.json', [named('g', 'old.test')]);
    await names.answer('old.test', '10.1.0.1');
    sources.put('f.json', [named('g', 'new.test')]);
    expect(names.stopped).toEqual(['old.test']);
    expect(ids()).toEqual(['g/10.1.0.1:7']);
    await names.answer('new.test', '10.2.0.1');
    expect(ids()).toEqual(['g/10.2.0.1:7']);
  });

  it.each([{ port: 8 }, { authority: '10.0.0.53:53' }])(
    'another port or DNS server is another name: %j',
    async (part) => {
      const { names, sources, ids } = scene([]);
      void sources.start();
      sources.put('f.json', [named('g', 'g.test')]);
      await names.answer('g.test', '10.1.0.1');
      const entry = named('g', 'g.test');
      sources.put('f.json', [{ ...entry, where: { kind: 'name', host: 'g.test', port: 7, authority: null, ...part } }]);
      expect({ asked: names.asked, stopped: names.stopped }).toEqual({
        asked: ['g.test', 'g.test'],
        stopped: ['g.test'],
      });
      await names.answer('g.test', '10.1.0.1');
      expect(ids()).toEqual([`g/10.1.0.1:${part.port ?? 7}`]);
    },
  );

  it('an option that is another resolves nothing anew', async () => {
    const { names, sources, changes } = scene([]);
    void sources.start();
    sources.put('f.json', [named('g', 'g.test')]);
    await names.answer('g.test', '10.1.0.1');
    sources.put('f.json', [{ ...named('g', 'g.test'), weight: 5 }]);
    expect(names.asked).toEqual(['g.test']);
    expect(changes[1]).toEqual({ added: [], removed: [], changed: ['g/10.1.0.1:7'] });
    expect(sources.specs()[0]?.weight).toBe(5);
  });

  it('a name that is gone is followed no more; one that comes again begins anew', async () => {
    const { time, names, sources, ids } = scene([]);
    void sources.start();
    sources.put('f.json', [named('g', 'g.test')]);
    await names.answer('g.test', '10.1.0.1');
    sources.put('f.json', []);
    expect(names.stopped).toEqual(['g.test']);
    expect(ids()).toEqual([]);
    expect(time.alarms.pending).toBe(0);
    sources.put('f.json', [named('g', 'g.test')]);
    expect(ids()).toEqual([]);
    expect(names.asked).toEqual(['g.test', 'g.test']);
  });

  it('says nothing after it was stopped, and leaves no alarm', async () => {
    const { time, names, sources, changes, lines } = scene([named('g', 'g.test')]);
    void sources.start();
    sources.stop();
    await names.answer('g.test', '10.1.0.1');
    sources.put('f.json', [at('b', '10.0.0.2')]);
    time.advance(60_000);
    expect({ changes, lines, pending: time.alarms.pending }).toEqual({ changes: [], lines: [], pending: 0 });
  });

  it('does not begin after it was stopped', () => {
    const { names, sources } = scene([named('g', 'g.test')]);
    sources.stop();
    void sources.start();
    expect(names.asked).toEqual([]);
  });

  it('a listener that is taken back hears no more', () => {
    const { sources } = scene([]);
    let heard = 0;
    const forget = sources.onChange(() => {
      heard += 1;
    });
    sources.put('f.json', [at('b', '10.0.0.2')]);
    forget();
    sources.put('f.json', []);
    expect(heard).toBe(1);
  });
});
