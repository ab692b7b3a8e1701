import { describe, expect, it } from 'vitest';
import { createNotes } from '../../../src/proxy/notes.js';

const lines = (fields: readonly { name: string; value: string }[]) =>
  fields.map(({ name, value }) => `${name}: ${value}`);

describe('createNotes', () => {
  const notes = createNotes('hedgerow-', true);

  it('names the backend in initial metadata, and nothing where none was reached', () => {
    expect(lines(notes.initial('b1'))).toEqual(['hedgerow-backend: b1']);
    expect(notes.initial(null)).toEqual([]);
  });

  it('tells retries always, the stop reason only where the call did not end OK', () => {
    expect(lines(notes.trailers('b1', 0, null))).toEqual(['hedgerow-backend: b1', 'hedgerow-retries: 0']);
    expect(lines(notes.trailers('b1', 2, 'attempts_exhausted'))).toEqual([
      'hedgerow-backend: b1',
      'hedgerow-retries: 2',
      'hedgerow-stop-reason: attempts_exhausted',
    ]);
    expect(lines(notes.trailers(null, 0, 'no_backend'))).toEqual([
      'hedgerow-retries: 0',
      'hedgerow-stop-reason: no_backend',
    ]);
    expect(lines(notes.trailers('b1', 3, null))).toEqual(['hedgerow-backend: b1', 'hedgerow-retries: 3']);
  });

  it('keeps backends apart and gives the same fields again, for the encoder to know them', () => {
    expect(lines(notes.trailers('b2', 0, null))).toEqual(['hedgerow-backend: b2', 'hedgerow-retries: 0']);
    expect(notes.trailers('b1', 0, null)).toBe(notes.trailers('b1', 0, null));
    expect(notes.trailers('b1', 1, 'no_policy')[1]).toBe(notes.trailers('b2', 1, 'fatal_status')[1]);
    expect(notes.trailers('b1', 1, 'no_policy')[2]).toBe(notes.trailers('b2', 2, 'no_policy')[2]);
  });

  it('uses the prefix it is given', () => {
    expect(lines(createNotes('x-', true).trailers('b1', 1, 'pushback'))).toEqual([
      'x-backend: b1',
      'x-retries: 1',
      'x-stop-reason: pushback',
    ]);
  });

  it('says nothing when switched off', () => {
    const silent = createNotes('hedgerow-', false);
    expect(silent.initial('b1')).toEqual([]);
    expect(silent.trailers('b1', 1, 'no_policy')).toEqual([]);
  });
});
