import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cases } from '../differences/cases.js';
import type { CaseResult } from '../differences/run-case.js';
import { departures } from '../differences/verdict.js';
import { Peer, peerKinds } from './peer.js';
import { keep, keptResults, keptTable, type Results, resultsOf, tableOf } from './results.js';
import { skipped } from './standing.js';
import { runThroughPeer, warmUp } from './through-peer.js';

/** Cases at a time; each has a backend and a channel of its own. */
const together = 8;

const kept: Results[] = [];

for (const kind of peerKinds)
  describe(`${kind.name} does as A6 says, or what the data says of it`, () => {
    const { name } = kind;
    const mine = cases.filter((script) => skipped(script, name) === null);
    const outcomes = new Map<string, CaseResult | Error>();
    let peer: Peer;

    beforeAll(async () => {
      peer = new Peer(kind);
      const { message: version } = await peer.ask({ op: 'version' }).reply;
      kept.push(resultsOf(name, version, cases));
      await warmUp(peer);
      const left = [...mine];
      const work = async (): Promise<void> => {
        for (let script = left.shift(); script !== undefined; script = left.shift()) {
          const { id } = script;
          outcomes.set(id, await runThroughPeer(script, peer).catch((error: Error) => error));
        }
      };
      await Promise.all(Array.from({ length: together }, work));
    });

    afterAll(() => peer.close());

    for (const script of mine) {
      it(`${script.id}: ${script.title}`, () => {
        const outcome = outcomes.get(script.id);
        if (outcome === undefined || outcome instanceof Error) throw outcome ?? new Error('it has not been run');
        expect(departures(script, name, outcome)).toEqual([]);
      });
    }
  });

describe('what is kept of it', () => {
  it('is what the data says: INTEROP_WRITE=1 npm run test:interop writes it', () => {
    if (process.env['INTEROP_WRITE'] === '1') keep(kept, cases);
    const table = tableOf(kept, cases);
    console.log(table);
    expect(kept.map(({ name }) => name)).toEqual(peerKinds.map(({ name }) => name));
    for (const results of kept) expect(keptResults(results.name)).toEqual(results);
    expect(keptTable()).toBe(table);
  });
});
