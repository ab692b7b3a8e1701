import fc from 'fast-check';
import { expect, it } from 'vitest';
import { WaiterQueue } from '../../../src/upstream/waiter-queue.js';
import { Caller } from './fake-link.js';

type Step =
  | { readonly kind: 'push' | 'remove'; readonly who: number }
  | { readonly kind: 'shift'; readonly upTo: number };

it('behaves like a plain list, whatever joins and leaves in whatever order', () => {
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ kind: fc.constantFrom('push' as const, 'remove' as const), who: fc.nat(7) }),
    fc.record({ kind: fc.constant('shift' as const), upTo: fc.nat(40) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const waiters = Array.from({ length: 8 }, () => new Caller());
      const queue = new WaiterQueue();
      let list: { who: Caller; ticket: number }[] = [];
      let tickets = 0;
      for (const one of steps) {
        if (one.kind === 'shift') {
          const head = list[0];
          const expected = head !== undefined && head.ticket <= one.upTo ? head.who : null;
          if (expected !== null) list.shift();
          expect(queue.shift(one.upTo)).toBe(expected);
        } else {
          const who = waiters[one.who] as Caller;
          if (one.kind === 'remove') {
            queue.remove(who);
            list = list.filter((place) => place.who !== who);
          } else {
            queue.push(who);
            if (!list.some((place) => place.who === who)) {
              tickets += 1;
              list.push({ who, ticket: tickets });
            }
          }
        }
        expect(queue.size).toBe(list.length);
        expect(queue.first).toBe(list[0]?.who ?? null);
        expect(queue.lastTicket).toBe(tickets);
      }
    }),
  );
});

it('a place that has left has no neighbours, so that an old one keeps no other alive', () => {
  const queue = new WaiterQueue();
  const waiters = [new Caller(), new Caller(), new Caller(), new Caller()];
  for (const waiter of waiters) queue.push(waiter);
  const [first, second, third, last] = waiters.map(({ place }) => place);
  expect([second?.before, second?.after]).toEqual([first, third]);
  queue.remove(waiters[1] as Caller);
  queue.remove(waiters[3] as Caller);
  queue.shift(queue.lastTicket);
  for (const gone of [first, second, last]) expect([gone?.before, gone?.after]).toEqual([null, null]);
  expect(queue.first).toBe(waiters[2]);
});
