import { performance } from 'node:perf_hooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startRawBackend } from '../support/raw-backend.js';
import { Assault } from './assault.js';
import { accomplicePath, backendAttacks, polite } from './backend-attacks.js';
import { type ClientAttack, clientAttacks, silentPath } from './client-attacks.js';
import { type Honest, pause, Scene, type Stage, setStage } from './rig.js';
import { type Row, showTable } from './table.js';
import { tlsAttacks } from './tls-attacks.js';

/** How long the honest client is alone, and how long the attack goes on after that (ms). */
const alone = 700;
const attacked = 1200;
/** An attacker that gets little of the processor may need so much more to be thrown out (ms). */
const patience = 8000;
const mib = 1024 * 1024;

/** What must hold (issue: the attack table). */
const most = { rss: 64 * mib, closed: 1000, factor: 5 };
/** Below this no latency is judged: on a loaded machine it is the scheduler's (ms). */
const p99Floor = 10;
/** The same for answers of 1 MiB. */
const largeFloor = 40;

const rows: Row[] = [];
/** A backend that fails is parked, which ends most of what it can do: here it is not, so that the attack goes on. */
const everUsed =
  '--health-hard-failures 1000 --health-park 10ms --health-park-max 10ms --health-recent-window 0s'.split(' ');

let stage: Stage;
beforeAll(async () => {
  stage = await setStage();
});
afterAll(() => {
  stage.clear();
  showTable(rows);
});

/** What is judged, and by which measure: see ClientAttack. */
type Judged = Pick<ClientAttack, 'name' | 'end' | 'says' | 'lasts' | 'mayTake'>;

/** Runs an attack beside the honest client, and judges both. */
async function judge(attack: Judged, scene: Scene, mount: (assault: Assault) => Promise<void>): Promise<void> {
  const { name, end, says, lasts = attacked, mayTake = most.rss } = attack;
  await pause(200);
  // Warm-up.
  await scene.report();
  await pause(alone);
  const before = await scene.report();
  const rssBefore = await scene.rss();
  const watch = scene.watchRss();
  const assault = new Assault(scene.port, lasts, end === 'closed' ? patience : 0);
  await mount(assault);
  const during = await scene.report();
  const growth = (await watch()) - rssBefore;
  assault.end();
  const after = await scene.finish();
  const { closedAfter, closed } = assault;
  const words = says === null ? null : scene.logged(says);
  rows.push({ name, end, closedAfter, closed, growth, before, during, after, words });

  expect(calm(before), 'the control: honest calls without the attack').toEqual([]);
  expect(calm(during), 'honest calls during the attack').toEqual([]);
  expect(calm(after), 'honest calls after it').toEqual([]);
  expect(Math.min(before.calls, during.calls), 'honest calls').toBeGreaterThan(0);
  expect(growth, 'bytes of memory more than before').toBeLessThan(mayTake);
  const { yardstick } = during;
  expect(during.p99, 'p99 in ms').toBeLessThan(most.factor * Math.max(p99Floor, before.p99, yardstick));
  if (before.large > 0) {
    expect(during.large, 'answers of 1 MiB').toBeGreaterThan(0);
    expect(during.largeP99, 'their p99 in ms').toBeLessThan(most.factor * Math.max(largeFloor, before.largeP99));
  }
  if (end === 'closed')
    expect(closedAfter ?? Number.POSITIVE_INFINITY, 'ms to the close').toBeLessThan(most.closed + 2 * yardstick);
  else expect(closed, 'connections closed').toBe(0);
  if (says !== null) expect(words, 'what the log says').toMatch(says);
}

/** What went wrong. */
function calm({ calls, failed, words }: Honest): readonly string[] {
  return failed === 0 ? [] : [`${failed} of ${calls} failed`, ...words];
}

describe('attacks by clients', () => {
  it.each([...clientAttacks, ...tlsAttacks])(
    '$name',
    async ({ flags = [], secure = false, large = false, mount, ...attack }) => {
      const scene = await Scene.open(stage, { flags, secure, large, policy: 'retry' });
      try {
        await judge(attack, scene, mount);
      } finally {
        scene.close();
      }
    },
  );
});

describe('a drain', () => {
  it('is over in its time, whoever neither ends its streams nor reads', async () => {
    const drainTimeout = 500;
    const flags = ['--drain-timeout', `${drainTimeout}ms`];
    const scene = await Scene.open(stage, { flags, policy: 'retry' });
    const assault = new Assault(scene.port, 10_000, 0);
    try {
      const client = await assault.connect();
      for (let n = 0; n < 900; n += 1) client.call(silentPath);
      await client.ping();
      client.connection.pause();
      const { failed, yardstick } = await scene.finish();
      expect(failed).toBe(0);
      const begun = performance.now();
      scene.program.signal('SIGTERM');
      expect(await scene.program.exited()).toBe(0);
      // The last GOAWAY waits a second at most for the answer to its PING.
      expect(performance.now() - begun).toBeLessThan(drainTimeout + 1000 + most.closed + 2 * yardstick);
    } finally {
      assault.end();
      scene.close();
    }
  });
});

describe('attacks by a backend, beside a good one', () => {
  it.each(backendAttacks)('$name', async ({ flags = [], accomplice = false, mute = false, meet, ...attack }) => {
    let greet = true;
    // It says nothing of its own accord: where its header block is under way that would end it.
    const hostile = await startRawBackend({
      onStream: polite,
      windows: 'none',
      answerPings: false,
      get greet() {
        return greet;
      },
    });
    const scene = await Scene.open(stage, {
      flags: ['--backend', `hostile=${hostile.address}`, ...everUsed, ...flags],
      policy: 'hedge',
    });
    (await hostile.waitForConnection(1)).giveWindow(0, 2 ** 24);
    try {
      await judge({ ...attack, name: `backend: ${attack.name}` }, scene, async (assault) => {
        greet = !mute;
        hostile.behave((stream) => meet(stream, assault));
        if (mute) hostile.onConnection = (connection) => assault.watch(connection);
        if (accomplice) {
          const client = await assault.connect();
          const headers = [['hedgerow-pin', 'hostile']] as const;
          await assault.pace(100, (count) => {
            for (let i = 0; i < count; i += 1) client.call(accomplicePath, { headers });
            return !client.connection.closed;
          });
        }
        await assault.sitOut();
        greet = true;
        hostile.behave(polite);
      });
    } finally {
      scene.close();
      await hostile.close();
    }
  });
});
