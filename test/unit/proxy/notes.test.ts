import { describe, expect, it } from 'vitest';
import { createNotes, type Story } from '../../../src/proxy/notes.js';

const lines = (fields: readonly { name: string; value: string }[]) =>
  fields.map(({ name, value }) => `${name}: ${value}`);

const fine: Story = { backend: 'b1', retries: 0, backends: [], hedged: false, failure: null };
const failed = (reason: NonNullable<Story['failure']>['reason'], change: Partial<Story> = {}): Story => ({
  ...fine,
  ...change,
  failure: { reason, origin: 'backend', processed: 'unknown', callId: 'c1' },
});

describe('createNotes', () => {
  const notes = createNotes('hedgerow-', true);

  it('names the backend in initial metadata, and nothing where none was reached', () => {
    expect(lines(notes.initial('b1'))).toEqual(['hedgerow-backend: b1']);
    expect(notes.initial(null)).toEqual([]);
  });

  it('tells of a call that ended OK at its only attempt no more than the backend and no retries', () => {
    expect(lines(notes.plain('b1'))).toEqual(['hedgerow-backend: b1', 'hedgerow-retries: 0']);
    expect(lines(notes.trailers(fine))).toEqual(lines(notes.plain('b1')));
  });

  it('tells all of a call that failed', () => {
    expect(
      lines(notes.trailers(failed('attempts_exhausted', { retries: 2, backends: ['b1', 'b2', 'b1'], hedged: true }))),
    ).toEqual([
      'hedgerow-backend: b1',
      'hedgerow-retries: 2',
      'hedgerow-backends: b1,b2,b1',
      'hedgerow-hedged: true',
      'hedgerow-stop-reason: attempts_exhausted',
      'hedgerow-origin: backend',
      'hedgerow-processed: unknown',
      'hedgerow-call-id: c1',
    ]);
  });

  it('tells of one that found no backend that nothing has processed it', () => {
    const failure = { reason: 'no_backend', origin: 'proxy', processed: 'no', callId: 'c2' } as const;
    expect(lines(notes.trailers({ ...fine, backend: null, failure }))).toEqual([
      'hedgerow-retries: 0',
      'hedgerow-stop-reason: no_backend',
      'hedgerow-origin: proxy',
      'hedgerow-processed: no',
      'hedgerow-call-id: c2',
    ]);
  });

  it('names the backends of a call that ended OK on another attempt, and gives no reason', () => {
    expect(lines(notes.trailers({ ...fine, retries: 3, backends: ['b2', 'b1'] }))).toEqual([
      'hedgerow-backend: b1',
      'hedgerow-retries: 3',
      'hedgerow-backends: b2,b1',
    ]);
  });

  it('tells the client’s library not to repeat a call with an unknown pin or a lost session (D6, D15)', () => {
    for (const reason of ['pin_unknown', 'session_lost'] as const) {
      expect(lines(notes.trailers(failed(reason))).at(-1)).toBe('grpc-retry-pushback-ms: -1');
      expect(lines(createNotes('hedgerow-', false).trailers(failed(reason)))).toEqual(['grpc-retry-pushback-ms: -1']);
    }
  });

  it('keeps backends apart and gives the same fields again, for the encoder to know them', () => {
    expect(lines(notes.plain('b2'))).toEqual(['hedgerow-backend: b2', 'hedgerow-retries: 0']);
    expect(notes.plain('b1')).toBe(notes.plain('b1'));
    const one = notes.trailers(failed('no_policy', { retries: 1 }));
    const other = notes.trailers(failed('no_policy', { retries: 1, backend: 'b2' }));
    expect(one.slice(1, 5).every((field, at) => field === other[at + 1])).toBe(true);
  });

  it('uses the prefix it is given', () => {
    expect(lines(createNotes('x-', true).trailers(failed('pushback', { retries: 1 }))).slice(0, 3)).toEqual([
      'x-backend: b1',
      'x-retries: 1',
      'x-stop-reason: pushback',
    ]);
  });

  it('says nothing when switched off', () => {
    const silent = createNotes('hedgerow-', false);
    expect(silent.initial('b1')).toEqual([]);
    expect(silent.plain('b1')).toEqual([]);
    expect(silent.trailers(failed('no_policy'))).toEqual([]);
  });
});
