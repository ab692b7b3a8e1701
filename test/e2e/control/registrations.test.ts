import { afterEach, describe, expect, it } from 'vitest';
import { defaultRegistryLimits } from '../../../src/control/registry.js';
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

const reset = 'lose b1 1: its registration stream broke';
const b1 = { name: 'b1', target: '127.0.0.1:7001' };

describe('a grpc-js backend', () => {
  it('REG-01: registers, and is told its generation and the heartbeat interval', async () => {
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

  it('REG-02: half-closes: it leaves, and the stream ends OK', async () => {
    const rig = await start();
    const stream = await rig.client().register(b1);
    stream.finish();
    expect(await stream.ended()).toBe('0 OK');
    expect(rig.told.slice(1)).toEqual(['drain b1 1: it ended its registration']);
    expect(rig.refused).toEqual([]);
  });

  it('REG-03: says that it leaves: that holds, however the stream ends', async () => {
    const rig = await start();
    const stream = await rig.client().register(b1);
    stream.send({ leaving: {} });
    expect(await stream.reply(1)).toEqual({ left: {} });
    expect(rig.told.slice(1)).toEqual(['drain b1 1: it said that it is leaving']);
    stream.cancel();
    await stream.ended();
    // What another backend does comes after it.
    await rig.client().register({ ...b1, name: 'b2' });
    expect(rig.told.slice(2)).toEqual(['put b2 127.0.0.1:7001 new']);
  });

  it('REG-04: cancels: it is lost', async () => {
    const rig = await start();
    const stream = await rig.client().register(b1);
    stream.cancel();
    await rig.whenTold(reset);
    expect(rig.told.at(-1)).toBe(reset);
  });

  it('REG-04: lets the deadline of its stream pass: it is lost', async () => {
    const rig = await start();
    const client = rig.client();
    // Connected, so that the deadline is the stream's alone.
    await client.check('');
    const stream = client.open(undefined, { deadline: Date.now() + 1000 });
    stream.send({ registration: b1 });
    await rig.whenTold(reset);
    expect(await stream.ended()).toMatch(/^4 /);
  });

  it('REG-12: registers on a newer stream: that one holds, the older ends ABORTED, nobody is lost', async () => {
    const rig = await start();
    const old = await rig.client().register(b1);
    const newer = await rig.client().register({ ...b1, target: '127.0.0.1:7002' });
    expect(newer.replies[0]?.registered?.generation).toBe(2);
    expect(await old.ended()).toBe('10 a newer stream has registered b1; do not register again');
    expect(rig.told).toEqual(['put b1 127.0.0.1:7001 new', 'put b1 127.0.0.1:7002 over 1']);
    newer.cancel();
    await rig.whenTold('lose b1 2: its registration stream broke');
  });

  it('REG-11: promises heartbeats and sends none: it is lost, and its stream ends UNAVAILABLE', async () => {
    const rig = await start({ limits: { ...defaultRegistryLimits, heartbeatInterval: 20 } });
    const quiet = await rig.client().register({ ...b1, name: 'quiet' });
    const promised = await rig.client().register({ ...b1, heartbeats: true });
    expect(await promised.ended()).toBe('14 no heartbeat came for 60 ms');
    expect(rig.told.slice(2)).toEqual(['lose b1 2: no heartbeat came for 60 ms']);
    quiet.send({ update: { weight: 2 } });
    expect(await quiet.reply(1)).toEqual({ updated: {} });
  });

  it('REG-18: updates its options; what the update does not name stays', async () => {
    const rig = await start();
    const stream = await rig.client().register({ ...b1, weight: 3, priority: 2, maxCalls: 40 });
    stream.send({ update: { maxCalls: 0 } });
    expect(await stream.reply(1)).toEqual({ updated: {} });
    expect(rig.told.slice(1)).toEqual(['put b1 127.0.0.1:7001 over 1']);
    expect(rig.backends.get('b1')).toMatchObject({ weight: 3, priority: 2, maxCalls: null, generation: 1 });
    stream.send({ update: { weight: 7, priority: 0 } });
    await stream.reply(2);
    expect(rig.backends.get('b1')).toMatchObject({ weight: 7, priority: 0, maxCalls: null, generation: 1 });
  });

  it('REG-19: sends an update that cannot be: it is told, and its registration stands', async () => {
    const rig = await start();
    const stream = await rig.client().register(b1);
    stream.send({ update: { weight: 0 } });
    expect(await stream.reply(1)).toEqual({ rejected: { reason: 'weight must be from 1 to 1000; got 0' } });
    expect(rig.told.slice(1)).toEqual([]);
  });

  it.each([
    ['REG-14: a bad name', { ...b1, name: 'B1' }, '3 name "B1" is not a backend name: '],
    ['REG-14: a host name for a target', { ...b1, target: 'db:1' }, '3 target: "db" is not an IP address; write '],
    ['REG-16: a name of the flags', { ...b1, name: 'flag' }, '6 backend flag is named by --backend; '],
    ['REG-17: our own listener', { ...b1, target: '127.0.0.1:50051' }, '9 target 127.0.0.1:50051 is --listen '],
  ])('%s is refused with words', async (_, registration, status) => {
    const rig = await start();
    const stream = rig.client().open();
    stream.send({ registration });
    expect((await stream.ended()).slice(0, status.length)).toBe(status);
    expect(rig.told).toEqual([]);
    expect(rig.refused).toHaveLength(1);
    expect(rig.refused[0]).toMatch(/^127\.0\.0\.1:\d+ /);
  });

  it('REG-24: registers while the proxy drains: refused UNAVAILABLE', async () => {
    const rig = await start();
    rig.draining = true;
    const stream = rig.client().open();
    stream.send({ registration: b1 });
    expect(await stream.ended()).toBe('14 hedgerow is draining and takes no new backends');
  });

  it('REG-25: is registered when the proxy stops: the stream ends UNAVAILABLE, nobody is lost', async () => {
    const rig = await start();
    const stream = await rig.client().register(b1);
    await rig.control.stop();
    expect(await stream.ended()).toBe('14 hedgerow is stopping; register again after a wait');
    expect(rig.told).toHaveLength(1);
    expect(rig.alarms.pending).toBe(0);
  });

  it('REG-27: has a name that another source gets: the stream ends ALREADY_EXISTS, nobody is told', async () => {
    const rig = await start();
    const stream = await rig.client().register(b1);
    rig.control.expel('b1', 'backend b1 is named by the endpoints file now');
    expect(await stream.ended()).toBe('6 backend b1 is named by the endpoints file now');
    expect(rig.told).toHaveLength(1);
  });
});
