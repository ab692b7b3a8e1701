import { afterAll, describe, expect, it } from 'vitest';
import { startRawBackend } from '../support/raw-backend.js';
import { Assault } from './assault.js';
import { accomplicePath, backendAttacks, polite } from './backend-attacks.js';
import { clientAttacks, type End } from './client-attacks.js';
import { type Honest, pause, Scene } from './rig.js';
import { type Row, showTable } from './table.js';

/** How long the honest client is alone, and how long the attack goes on after that (ms). */
const alone = 1000;
const attacked = 1600;
/** An attacker that gets little of the processor may need so much more to be thrown out (ms). */
const patience = 8000;
const mib = 1024 * 1024;

/** What must hold (issue: the attack table). */
const most = { rss: 64 * mib, closed: 1000, factor: 5 };
/** Below this no latency is judged: on a loaded machine it is the scheduler's (ms). */
const p99Floor = 10;

const rows: Row[] = [];
afterAll(() => showTable(rows));

/** Runs an attack beside the honest client, and judges both. */
async function judge(name: string, end: End, scene: Scene, mount: (assault: Assault) => Promise<void>): Promise<void> {
  await pause(300);
  // Warm-up.
  await scene.report();
  await pause(alone);
  const before = await scene.report();
  const rssBefore = await scene.rss();
  const watch = scene.watchRss();
  const assault = new Assault(scene.port, attacked, end === 'closed' ? patience : 0);
  await mount(assault);
  const during = await scene.report();
  const growth = (await watch()) - rssBefore;
  assault.end();
  const after = await scene.finish();
  const { closedAfter, closed } = assault;
  rows.push({ name, end, closedAfter, closed, growth, before, during, after });

  expect(calm(before), 'the control: honest calls without the attack').toEqual([]);
  expect(calm(during), 'honest calls during the attack').toEqual([]);
  expect(calm(after), 'honest calls after it').toEqual([]);
  expect(Math.min(before.calls, during.calls), 'honest calls').toBeGreaterThan(0);
  expect(growth, 'bytes of memory more than before').toBeLessThan(most.rss);
  const { yardstick } = during;
  expect(during.p99, 'p99 in ms').toBeLessThan(most.factor * Math.max(p99Floor, before.p99, yardstick));
  if (end === 'closed')
    expect(closedAfter ?? Number.POSITIVE_INFINITY, 'ms to the close').toBeLessThan(most.closed + 2 * yardstick);
  else expect(closed, 'connections closed').toBe(0);
}

/** What went wrong. */
function calm({ calls, failed, words }: Honest): readonly string[] {
  return failed === 0 ? [] : [`${failed} of ${calls} failed`, ...words];
}

describe('attacks by clients', () => {
  it.each(clientAttacks)('$name', async ({ name, end, flags = [], mount }) => {
    const scene = await Scene.open(flags, 'retry');
    try {
      await judge(name, end, scene, mount);
    } finally {
      scene.close();
    }
  });
});

describe('attacks by a backend, beside a good one', () => {
  it.each(backendAttacks)('$name', async ({ name, end, flags = [], accomplice = false, meet }) => {
    // It says nothing of its own accord: where its header block is under way that would end it.
    const hostile = await startRawBackend({ onStream: polite, windows: 'none', answerPings: false });
    const scene = await Scene.open(['--backend', `hostile=${hostile.address}`, ...flags], 'hedge');
    (await hostile.waitForConnection(1)).giveWindow(0, 2 ** 24);
    try {
      await judge(`backend: ${name}`, end, scene, async (assault) => {
        hostile.behave((stream) => meet(stream, assault));
        if (accomplice) {
          const client = await assault.connect();
          const headers = [['hedgerow-pin', 'hostile']] as const;
          await assault.pace(100, (count) => {
            for (let i = 0; i < count; i += 1) client.call(accomplicePath, { headers });
            return !client.connection.closed;
          });
        }
        await assault.sitOut();
        hostile.behave(polite);
      });
    } finally {
      scene.close();
      await hostile.close();
    }
  });
});
