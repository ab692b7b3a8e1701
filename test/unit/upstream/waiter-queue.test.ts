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
