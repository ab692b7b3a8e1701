import { afterEach, describe, expect, it } from 'vitest';
import { ControlRig } from './rig.js';

const rigs: ControlRig[] = [];
afterEach(async () => {
  await Promise.all(rigs.splice(0).map((rig) => rig.stop()));
});

async function start(...args: ConstructorParameters<typeof ControlRig>): Promise<ControlRig> {
  const rig = new ControlRig(...args);
  rigs.push(rig);
  return rig.start();
}

const b1 = { name: 'b1', target: '127.0.0.1:7001' };

describe('a grpc-js backend', () => {
  it('registers, and is told its generation and the heartbeat interval', async () => {
    const rig = await start();
    const stream = await rig.client().register({ ...b1, weight: 3, priority: 2, maxCalls: 40 });
    expect(stream.replies).toEqual([{ registered: { generation: 1, heartbeatIntervalMs: 5000 } }]);
    expect(rig.told).toEqual(['put b1 127.0.0.1:7001 new']);
    expect(rig.backends.get('b1')).toEqual({
      ...b1,
      endpoint: { kind: 'tcp', host: '127.0.0.1', port: 7001 },
      weight: 3,
      priority: 2,
      maxCalls: 40,
      generation: 1,
    });
  });

  it('half-closes: it leaves, and the stream ends OK', async () => {
    const rig = await start();
    const stream = await rig.client().register(b1);
    stream.finish();
    expect(await stream.ended()).toBe('0 OK');
    expect(rig.told.slice(1)).toEqual(['drain b1 1: it ended its registration']);
  });

  it('cancels: it is lost', async () => {
    const rig = await start();
    const stream = await rig.client().register(b1);
    stream.cancel();
    expect((await rig.whenTold(2)).slice(1)).toEqual(['lose b1 1: its registration stream broke']);
  });
});
