import { expect, it } from 'vitest';
import { hedgerow } from '../../support/program.js';
import { startRawBackend } from '../../support/raw-backend.js';
import { connectRawClient } from '../../support/raw-peer.js';
import { samples } from '../../unit/telemetry/metrics/rig.js';

const mib = 1024 * 1024;
/** Text of a failed call that takes 2.7 KB in the log each time it is told: of the call, and of its attempt. */
const wide = '%E2%80%8B'.repeat(300);

it('a log that nobody reads holds 4 MiB of lines of calls: calls go on, and how many lines it cost is told after', async () => {
  const backend = await startRawBackend({ onStream: (stream) => stream.trailersOnly(13, [['grpc-message', wide]]) });
  const program = await hedgerow([
    ...['serve', '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--access-log', 'all'],
    ...['--backend', `b1=${backend.address}`],
  ]);
  await program.line(({ event }) => event === 'connected');
  const admin = await program.admin();
  const droppedSoFar = async (): Promise<number> => {
    const text = await (await fetch(`http://${admin}/metrics`)).text();
    return samples(text, 'hedgerow_log_lines_dropped_total')['kind="call"'] ?? Number.NaN;
  };
  const client = await connectRawClient(await program.port());
  const before = program.out.length;
  program.holdStdout();
  // Three times what may wait.
  const all = 2500;
  for (let made = 0; made < all; made += 100) {
    const wave = Array.from({ length: 100 }, () => client.call('/log.Reader/Call').done());
    expect((await Promise.all(wave)).map(({ status }) => status)).toEqual(wave.map(() => 13));
  }
  const dropped = await droppedSoFar();
  expect(dropped).toBeGreaterThan(all / 2);

  program.readOn();
  const told = await program.line(({ event }) => event === 'log_lines_dropped');
  expect(told).toMatchObject({
    level: 40,
    dropped: { call: dropped, other: 0 },
    msg: `${dropped} lines of calls were not written: the log's reader was too slow`,
  });
  // Beside what waited in the program, what the pipe holds.
  expect(program.out.length - before).toBeLessThan(5 * mib);
  expect(program.lines.filter(({ msg }) => msg === 'call')).toHaveLength(all - dropped);

  await client.call('/log.Reader/After').done();
  await program.line((line) => line['method'] === '/log.Reader/After');
  expect(await droppedSoFar()).toBe(dropped);
  await client.close();
  await backend.close();
});
