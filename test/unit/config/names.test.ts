import { describe, expect, it } from 'vitest';
import { compileMethods } from '../../../src/config/methods.js';
import { accepted, parse, retry, told, withNames } from './config-text.js';

/** The entry that applies to each path. */
function entries(text: string, ...paths: string[]): (number | null)[] {
  const methods = compileMethods(accepted(text));
  return paths.map((path) => methods.lookup(path).entry);
}

describe('group 1b: methodConfig and names', () => {
  it('CFG-13: methodConfig that is not an array is refused', () => {
    expect(told('{"methodConfig":{}}')).toEqual(['wrong-type methodConfig']);
    expect(told('{"methodConfig":[null,3]}')).toEqual(['wrong-type methodConfig[0]', 'wrong-type methodConfig[1]']);
  });

  it('CFG-14: an entry without name applies to nothing, is told so, and its policy is validated', () => {
    const text = JSON.stringify({ methodConfig: [{ retryPolicy: retry }] });
    expect(told(text)).toEqual(['entry-without-name methodConfig[0].name']);
    expect(entries(text, '/S/M')).toEqual([null]);
    expect(parse(JSON.stringify({ methodConfig: [{ retryPolicy: { ...retry, maxAttempts: 1 } }] })).config).toBeNull();
  });

  it('CFG-15: an empty list of names applies to nothing', () => {
    const text = withNames([]);
    expect(told(text)).toEqual(['entry-without-name methodConfig[0].name']);
    expect(entries(text, '/S/M')).toEqual([null]);
  });

  it('CFG-16: a method beats its service, which beats the default of all', () => {
    const text = withNames([{}], [{ service: 'p.S' }], [{ service: 'p.S', method: 'M' }]);
    expect(entries(text, '/p.S/M', '/p.S/N', '/p.T/M', '/p.S/M')).toEqual([2, 1, 0, 2]);
  });

  it.each([[{ service: 'S' }], [{ service: 'S', method: '' }], [{ service: 'S', method: null }]])(
    'CFG-17: %j is the default of a service',
    (name) => {
      expect(entries(withNames([name]), '/S/any', '/S/other', '/T/any')).toEqual([0, 0, null]);
    },
  );

  it.each([[{}], [{ service: '' }], [{ service: null }], [{ service: '', method: '' }]])(
    'CFG-18: %j is the default of all methods',
    (name) => {
      expect(entries(withNames([name]), '/S/M', '/T/M')).toEqual([0, 0]);
    },
  );

  it.each([[{ method: 'M' }], [{ service: '', method: 'M' }], [{ service: null, method: 'M' }]])(
    'CFG-19: a method without its service is refused: %j',
    (name) => {
      expect(told(withNames([name]))).toEqual(['method-without-service methodConfig[0].name[0]']);
    },
  );

  it('CFG-21: the same method twice in one entry is refused', () => {
    const name = { service: 'S', method: 'M' };
    expect(told(withNames([name, name]))).toEqual(['duplicate-name methodConfig[0].name[1]']);
  });

  it('CFG-22: the same name in two entries is refused, naming both', () => {
    const { config, findings } = parse(withNames([{ service: 'T' }, { service: 'S' }], [{ service: 'S' }]));
    expect(config).toBeNull();
    expect(findings).toMatchObject([
      {
        rule: 'duplicate-name',
        path: 'methodConfig[1].name[0]',
        message: expect.stringContaining('methodConfig[0].name[1]'),
      },
    ]);
  });

  it.each([[{ service: 'S', method: '' }], [{ service: 'S', method: null }]])(
    'CFG-23: a service default is the same name however it is spelled: %j',
    (name) => {
      expect(told(withNames([{ service: 'S' }], [name]))).toEqual(['duplicate-name methodConfig[1].name[0]']);
    },
  );

  it.each([[{ service: '' }], [{ service: null }], [{ service: '', method: '' }]])(
    'CFG-24: two defaults of all methods are refused: {} and %j',
    (name) => {
      expect(told(withNames([{}], [name]))).toEqual(['duplicate-name methodConfig[1].name[0]']);
    },
  );

  it('CFG-25: a service or name of a wrong type is refused', () => {
    expect(told(withNames([{ service: 3 }]))).toEqual(['wrong-type methodConfig[0].name[0].service']);
    expect(told(withNames([{ service: 'S', method: [] }]))).toEqual(['wrong-type methodConfig[0].name[0].method']);
    expect(told(withNames(['S/M', null]))).toEqual([
      'wrong-type methodConfig[0].name[0]',
      'wrong-type methodConfig[0].name[1]',
    ]);
    expect(told(withNames({ service: 'S' }))).toEqual(['wrong-type methodConfig[0].name']);
  });

  it('CFG-26: names match byte by byte, and those that no call can have are told', () => {
    const text = withNames([
      { service: '/S' },
      { service: 'T/' },
      { service: '*' },
      { service: 'S', method: 'Get*' },
      { service: 's', method: 'a/b' },
    ]);
    expect(told(text)).toEqual([
      'name-never-matches methodConfig[0].name[0].service',
      'name-never-matches methodConfig[0].name[1].service',
      'name-never-matches methodConfig[0].name[2].service',
      'name-never-matches methodConfig[0].name[3].method',
      'name-never-matches methodConfig[0].name[4].method',
    ]);
    expect(entries(text, '/S/M', '/T/M', '/S/GetX', '/s/m', '/s/a/b')).toEqual([null, null, null, null, null]);
  });

  it('CFG-27: a path is split at its last slash', () => {
    expect(entries(withNames([{ service: 'a/b' }], [{ service: 'a' }]), '/a/b/Method', '/a/b')).toEqual([0, 1]);
    expect(entries(withNames([{ service: 'a', method: 'b/M' }], [{ service: 'a/b' }]), '/a/b/M')).toEqual([1]);
  });

  it('CFG-28: a path without a method or without slashes has the defaults', () => {
    const text = withNames([{}], [{ service: 'S' }]);
    expect(entries(text, '/S/', '/S', 'S', '', '/', '//', '*')).toEqual([1, 0, 0, 0, 0, 0, 0]);
  });

  it('only a method that the config names itself counts as named, so that labels stay bounded', () => {
    const methods = compileMethods(accepted(withNames([{}], [{ service: 'S' }], [{ service: 'T', method: 'M' }])));
    const named = ['/S/x', '/T/M', '/T/x', '/U/M'].map((path) => methods.lookup(path).named);
    expect(named).toEqual([false, true, false, false]);
    expect(methods.names).toBe(3);
  });

  it('a client that makes up paths gets right answers past the bound of the cache', () => {
    const methods = compileMethods(accepted(withNames([{ service: 'S' }], [{ service: 'S', method: 'M' }])));
    for (let i = 0; i < 5000; i++) expect(methods.lookup(`/S/${i}`).entry).toBe(0);
    expect([
      methods.lookup('/S/M').entry,
      methods.lookup(`/S/${'x'.repeat(9999)}`).entry,
      methods.lookup('/T/M').entry,
    ]).toEqual([1, 0, null]);
  });

  it('keys that mean something to JavaScript mean nothing here', () => {
    const text = withNames([{ service: '__proto__', method: 'constructor' }]);
    expect(entries(text, '/__proto__/constructor', '/constructor/x', '/toString/valueOf')).toEqual([0, null, null]);
    expect(told('{"__proto__":{},"constructor":1}')).toEqual(['unknown-field __proto__', 'unknown-field constructor']);
  });
});
