import { describe, expect, it } from 'vitest';
import { type BackendNews, createToldFinder } from '../../../src/app/told-finder.js';
import { backendId } from '../../../src/grpc/backend-id.js';
import type { FoundBackend, SetDifference } from '../../../src/upstream/backend-set.js';

function found(name: string, port: number): FoundBackend {
  const endpoint = { kind: 'tcp', host: '10.0.0.1', port } as const;
  const options = { name, target: `10.0.0.1:${port}`, weight: 1, priority: 0, maxCalls: null };
  return { ...options, id: backendId(name), endpoint, host: null, authority: null };
}

/** What the primary sends: it comes as a copy. */
function news(...backends: FoundBackend[]): BackendNews {
  return structuredClone({
    backends,
    names: new Map([...backends.map(({ name }) => [name, 'flags'] as const), ['later', 'registry'] as const]),
  });
}

describe('the backends that a worker is told of', () => {
  it('WRK-17: begins with what it is told, and hears only of what has changed', () => {
    const finder = createToldFinder(news(found('a', 1)), () => {});
    const heard: SetDifference[] = [];
    finder.sources.onChange((_backends, difference) => heard.push(difference));
    finder.put(news(found('a', 1)));
    expect(heard).toEqual([]);
    finder.put(news(found('a', 2), found('b', 1)));
    expect(heard).toEqual([{ added: ['b'], removed: [], changed: ['a'] }]);
    expect(finder.sources.specs().map(({ id, endpoint }) => [id, endpoint])).toEqual([
      ['a', found('a', 2).endpoint],
      ['b', found('b', 1).endpoint],
    ]);
  });

  it('WRK-17: knows names that lead to nobody yet, and whose they are', () => {
    const finder = createToldFinder(news(found('a', 1)), () => {});
    expect(finder.sources.has('later')).toBe(true);
    expect(finder.sourceOf('later')).toBe('registry');
    expect(finder.sources.has('never')).toBe(false);
    expect(finder.sourceOf('never')).toBeNull();
    finder.put({ backends: [], names: new Map() });
    expect(finder.sources.has('later')).toBe(false);
  });

  it('WRK-17: a lost connection has the primary ask for the name again', () => {
    const asked: string[] = [];
    createToldFinder(news(found('a', 1)), (name) => asked.push(name)).sources.refresh('a');
    expect(asked).toEqual(['a']);
  });

  it('WRK-17: whoever wants to hear no more hears no more', () => {
    const finder = createToldFinder(news(found('a', 1)), () => {});
    let heard = 0;
    const off = finder.sources.onChange(() => {
      heard += 1;
    });
    off();
    finder.put(news());
    expect(heard).toBe(0);
  });
});
