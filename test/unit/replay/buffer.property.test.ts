import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createReplayBudget } from '../../../src/replay/budget.js';
import { createReplayBuffer } from '../../../src/replay/buffer.js';
import type { ReplayBuffer, ReplayReader } from '../../../src/replay/types.js';

/** One step in the life of one of two calls of a client. Numbers are wrapped to what exists when the step is taken. */
type Step =
  | { readonly do: 'append'; readonly size: number; readonly lead: number; readonly trail: number }
  | { readonly do: 'read'; readonly reader: number; readonly bytes: number }
  | { readonly do: 'open' | 'end' | 'free' | 'dispose' }
  | { readonly do: 'commit'; readonly reader: number | null }
  | { readonly do: 'close'; readonly reader: number };

const sizes = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 20 }) },
  { weight: 2, arbitrary: fc.integer({ min: 100, max: 1100 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1000, max: 6000 }) },
);
const padding = fc.constantFrom(0, 0, 9, 5000, 30_000);

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('append' as const), size: sizes, lead: padding, trail: padding }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('read' as const),
      reader: fc.nat(9),
      bytes: fc.oneof(fc.integer({ min: 0, max: 30 }), fc.constant(100_000)),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('open' as const, 'free' as const) }) },
  {
    weight: 1,
    // Ends are rare: what comes after them is short.
    arbitrary: fc.nat(9).map((n): Step => ({ do: n === 0 ? 'dispose' : n < 3 ? 'end' : 'free' })),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('commit' as const), reader: fc.option(fc.nat(9), { nil: null }) }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('close' as const), reader: fc.nat(9) }) },
);

/** A call as its text says it: all bytes in one array, every count by hand. */
class Model {
  readonly bytes: number[] = [];
  kept = 0;
  freed = 0;
  given = 0;
  ended = false;
  committed = false;
  overflow: string | null = null;
  disposed = false;
  winner: ModelReader | null = null;
  readonly readers: ModelReader[] = [];

  get held(): number {
    return this.disposed ? 0 : Math.max(0, this.kept - this.freed);
  }
}

interface ModelReader {
  readonly real: ReplayReader;
  position: number;
  closed: boolean;
}

interface Limits {
  readonly call: number;
  readonly client: number;
  readonly total: number;
}

const limits: fc.Arbitrary<Limits> = fc.record({
  call: fc.constantFrom(0, 7, 40, 3000, 100_000),
  client: fc.constantFrom(0, 50, 4000, 100_000),
  total: fc.constantFrom(30, 5000, 100_000),
});

it('any order of events: every reader gets the same bytes, no limit is passed, window and budget come back once', () => {
  fc.assert(
    fc.property(limits, fc.array(fc.tuple(fc.boolean(), step), { maxLength: 60 }), (limit, script) => {
      const total = createReplayBudget(limit.total, 'total', null);
      const client = createReplayBudget(limit.client, 'client', total);
      const pair = [0, 1].map(() => ({ real: createReplayBuffer(client, limit.call), model: new Model() }));
      let counter = 0;

      const check = ({ real, model }: { real: ReplayBuffer; model: Model }): void => {
        expect(real.total).toBe(model.bytes.length);
        expect(real.held).toBe(model.held);
        expect(real.peakHeld).toBe(model.kept);
        expect(real.overflow).toBe(model.overflow);
        expect(real.ended).toBe(model.ended);
        expect(real.replayable).toBe(model.freed === 0 && !model.disposed);
        for (const reader of model.readers) {
          expect(reader.real.position).toBe(reader.position);
          const mayRead = !reader.closed && !model.disposed && (!model.committed || model.winner === reader);
          if (mayRead) {
            expect(reader.real.chunk === null).toBe(reader.position === model.bytes.length);
            expect(reader.real.finished).toBe(model.ended && reader.position === model.bytes.length);
            const rest = reader.real.end - reader.real.start;
            expect(reader.real.last).toBe(model.ended && rest > 0 && reader.position + rest === model.bytes.length);
          }
        }
      };

      for (const [second, event] of script) {
        const call = pair[second ? 1 : 0];
        if (call === undefined) continue;
        const { real, model } = call;
        const pick = (index: number): ModelReader | undefined =>
          model.readers[index % Math.max(1, model.readers.length)];
        switch (event.do) {
          case 'append': {
            if (model.disposed || model.ended) break;
            const chunk = new Uint8Array(event.lead + event.size + event.trail);
            for (let i = 0; i < event.size; i += 1) {
              counter += 1;
              chunk[event.lead + i] = counter % 251;
            }
            const others = pair.reduce((sum, each) => sum + each.model.held, 0);
            const clientRoom = limit.client - others;
            const totalRoom = limit.total - others;
            const callRoom = limit.call - model.kept;
            let fits = 0;
            if (!model.committed && model.overflow === null) {
              fits = Math.min(event.size, callRoom, clientRoom, totalRoom);
              if (fits < event.size) {
                if (fits === callRoom) model.overflow = 'call';
                else if (fits === clientRoom) model.overflow = 'client';
                else model.overflow = 'total';
              }
            }
            const given = real.append(chunk, event.lead, event.lead + event.size);
            expect(given).toBe(fits);
            model.kept += fits;
            model.given += given;
            model.bytes.push(...chunk.subarray(event.lead, event.lead + event.size));
            break;
          }
          case 'open': {
            if (model.freed > 0 || model.disposed) {
              expect(() => real.open()).toThrow();
              break;
            }
            const reader = { real: real.open(), position: 0, closed: false };
            model.readers.push(reader);
            if (model.committed && model.winner === null) model.winner = reader;
            break;
          }
          case 'read': {
            const reader = pick(event.reader);
            if (reader === undefined || (model.committed && model.winner !== reader)) break;
            let left = event.bytes;
            for (let chunk = reader.real.chunk; chunk !== null && left > 0; chunk = reader.real.chunk) {
              const size = Math.min(left, reader.real.end - reader.real.start);
              const got = [...chunk.subarray(reader.real.start, reader.real.start + size)];
              expect(got).toEqual(model.bytes.slice(reader.position, reader.position + size));
              reader.real.advance(size);
              reader.position += size;
              left -= size;
            }
            break;
          }
          case 'close': {
            const reader = pick(event.reader);
            if (reader === undefined) break;
            reader.real.close();
            reader.closed = true;
            if (model.winner === reader) model.winner = null;
            break;
          }
          case 'commit': {
            // Once its bytes are freed a call stays with its reader.
            if (model.freed > 0) break;
            const reader = event.reader === null ? null : (pick(event.reader) ?? null);
            real.commit(reader?.real ?? null);
            model.committed = true;
            model.winner = reader === null || reader.closed ? null : reader;
            break;
          }
          case 'free': {
            const before = Math.max(model.kept, model.freed);
            if (model.winner !== null && !model.disposed) model.freed = model.winner.position;
            const owed = Math.max(model.kept, model.freed) - before;
            expect(real.free()).toBe(owed);
            model.given += owed;
            break;
          }
          case 'end':
            model.ended = true;
            real.end();
            break;
          case 'dispose': {
            const owed = model.disposed ? 0 : model.bytes.length - model.given;
            expect(real.dispose()).toBe(owed);
            model.given += owed;
            model.disposed = true;
            break;
          }
          default:
            event satisfies never;
        }
        check(call);
        const held = pair.reduce((sum, each) => sum + each.model.held, 0);
        expect([client.held, total.held]).toEqual([held, held]);
        expect(held).toBeLessThanOrEqual(Math.min(limit.client, limit.total));
      }

      for (const { real, model } of pair) {
        model.given += real.dispose();
        expect(model.given).toBe(model.bytes.length);
        expect(real.dispose()).toBe(0);
      }
      expect([client.held, total.held]).toEqual([0, 0]);
    }),
    { numRuns: 600 },
  );
});
