import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { defaultRegistryLimits } from '../../../src/control/registry.js';
import { alive } from '../../support/alive.js';
import { endStream, frame, reset, Type } from '../../support/frames.js';
import { connectRawClient, type RawCall, type RawClient } from '../../support/raw-client.js';
import type { RawOptions } from '../../support/raw-connection.js';
import { ControlRig, encodeRequest } from './rig.js';

const rigs: ControlRig[] = [];
const raws: RawClient[] = [];
afterEach(async () => {
  for (const raw of raws.splice(0)) raw.kill();
  await Promise.all(rigs.splice(0).map((rig) => rig.stop()));
});

/** No PING of ours: only what the wire tells can be what did it. */
const noPings = { time: 1_000_000, timeout: 1_000_000 };

async function start(...[options]: ConstructorParameters<typeof ControlRig>): Promise<ControlRig> {
  const rig = new ControlRig({ keepalive: noPings, ...options });
  rigs.push(rig);
  return rig.start();
}

async function connect(rig: ControlRig, options: RawOptions = {}): Promise<RawClient> {
  const raw = await connectRawClient(rig.port, options);
  raws.push(raw);
  return raw;
}

const register = '/hedgerow.registry.v1.Registry/Register';
const b1 = { name: 'b1', target: '127.0.0.1:7001' };
const endOfStream = (id: number): Buffer => frame(Type.data, endStream, id, Buffer.alloc(0));

async function registered(raw: RawClient, registration: object = b1): Promise<RawCall> {
  const call = raw.call(register, { messages: [encodeRequest({ registration })], end: false });
  await call.whenMessages(1);
  return call;
}

const lost = ['lose b1 1: its registration stream broke'];
const left = ['drain b1 1: it ended its registration'];

describe('how a registration stream ends on the wire', () => {
  it.each([
    ['REG-02: END_STREAM', left, (_raw: RawClient, call: RawCall) => void call.finish()],
    ['REG-04: RST_STREAM CANCEL', lost, (_raw: RawClient, call: RawCall) => call.reset(8)],
    ['REG-04: RST_STREAM INTERNAL_ERROR', lost, (_raw: RawClient, call: RawCall) => call.reset(2)],
    ['REG-05: RST_STREAM NO_ERROR', lost, (_raw: RawClient, call: RawCall) => call.reset(0)],
    ['REG-06: FIN', lost, (raw: RawClient) => raw.connection.end()],
    ['REG-06: GOAWAY NO_ERROR, then FIN', lost, (raw: RawClient) => goodbye(raw)],
    ['REG-06: a TCP reset', lost, (raw: RawClient) => void raw.connection.socket.resetAndDestroy()],
    [
      'REG-06: half a frame, then FIN',
      lost,
      (raw: RawClient) => void raw.connection.socket.end(endOfStream(1).subarray(0, 5)),
    ],
    [
      'REG-09: END_STREAM, then FIN in the same packet',
      left,
      (raw: RawClient) => void raw.connection.socket.end(endOfStream(1)),
    ],
    [
      'REG-10: END_STREAM, then RST_STREAM in the same packet',
      lost,
      (raw: RawClient) => raw.connection.send(endOfStream(1), reset(1, 8)),
    ],
  ])('%s: %j', async (_, told, act) => {
    const rig = await start();
    const raw = await connect(rig);
    const call = await registered(raw);
    act(raw, call);
    expect((await rig.whenTold(2)).slice(1)).toEqual(told);
    raw.kill();
    await raw.whenClosed();
    // Nothing more comes of it.
    await registered(await connect(rig), { ...b1, name: 'b2' });
    expect(rig.told.slice(2)).toEqual(['put b2 127.0.0.1:7001 new']);
  });

  function goodbye(raw: RawClient): void {
    raw.connection.goaway(0, 0);
    raw.connection.end();
  }

  it('REG-10: END_STREAM, and RST_STREAM when it has been read: it leaves, and is lost after all', async () => {
    const rig = await start({ limits: { ...defaultRegistryLimits, resetGrace: 60_000 } });
    const raw = await connect(rig);
    const call = await registered(raw);
    void call.finish();
    await rig.whenTold(2);
    call.reset();
    expect((await rig.whenTold(3)).slice(1)).toEqual([...left, ...lost]);
  });

  it('REG-06: FIN while answers wait for a window: it is lost', async () => {
    const rig = await start();
    const raw = await connect(rig, { settings: [[4, 20]], windows: 'none' });
    const call = await registered(raw);
    for (let i = 0; i < 5; i += 1) void call.sendMessage(encodeRequest({ update: { weight: 2 + i } }));
    await rig.whenTold(6);
    raw.connection.end();
    expect((await rig.whenTold(7)).slice(6)).toEqual(lost);
  });

  it('REG-03: `leaving`, then a TCP reset: no loss', async () => {
    const rig = await start();
    const raw = await connect(rig);
    const call = await registered(raw);
    void call.sendMessage(encodeRequest({ leaving: {} }));
    await call.whenMessages(2);
    raw.connection.socket.resetAndDestroy();
    await registered(await connect(rig), { ...b1, name: 'b2' });
    expect(rig.told.slice(1)).toEqual(['drain b1 1: it said that it is leaving', 'put b2 127.0.0.1:7001 new']);
  });

  it('REG-31: several over one connection: each ends alone, and the connection takes all that are left', async () => {
    const rig = await start();
    const raw = await connect(rig);
    await registered(raw, { ...b1, name: 'a' });
    const b = await registered(raw, { ...b1, name: 'b' });
    await registered(raw, { ...b1, name: 'c' });
    await b.finish();
    await rig.whenTold(4);
    raw.kill();
    await rig.whenTold(6);
    expect(rig.told.slice(3)).toEqual([
      'drain b 2: it ended its registration',
      'lose a 1: its registration stream broke',
      'lose c 3: its registration stream broke',
    ]);
  });

  it('REG-08: PINGs that are not answered: it is lost; one that answers is not', async () => {
    const rig = await start({ keepalive: { time: 40, timeout: 2000 } });
    await registered(await connect(rig), { ...b1, name: 'well' });
    const deaf = await connect(rig, { answerPings: false });
    await registered(deaf);
    expect((await rig.whenTold(3)).slice(2)).toEqual(['lose b1 2: its registration stream broke']);
  });

  it('REG-08: bytes that are no frame, and silence: it is lost', async () => {
    const rig = await start({ keepalive: { time: 40, timeout: 400 } });
    const raw = await connect(rig);
    await registered(raw);
    raw.connection.send(Buffer.alloc(64, 0xff));
    expect((await rig.whenTold(2)).slice(1)).toEqual(lost);
  });
});

describe('a backend whose process is killed', () => {
  /** Registers, says so, and lives on. */
  const program = `
    import { createRequire } from 'node:module';
    const require = createRequire(process.cwd() + '/package.json');
    const grpc = require('@grpc/grpc-js');
    const [address, method, message] = process.argv.slice(-3);
    const client = new grpc.Client(address, grpc.credentials.createInsecure());
    const bytes = (value) => value;
    const call = client.makeBidiStreamRequest(method, bytes, bytes);
    call.on('data', () => console.log('registered'));
    call.on('error', () => {});
    call.write(Buffer.from(message, 'base64'));
  `;

  it('REG-07: SIGKILL: it is lost, by its socket alone', async () => {
    const rig = await start();
    const message = encodeRequest({ registration: b1 }).toString('base64');
    const args = ['--input-type=module', '-e', program, '--', `127.0.0.1:${rig.port}`, register, message];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      await alive('the backend to register', once(child.stdout, 'data'));
      expect(rig.told).toEqual(['put b1 127.0.0.1:7001 new']);
      child.kill('SIGKILL');
      expect((await rig.whenTold(2)).slice(1)).toEqual(lost);
    } finally {
      child.kill('SIGKILL');
    }
  });
});

describe('messages that cannot be taken', () => {
  it.each([
    ['bytes that are no RegisterRequest', Buffer.from([0x0a, 0xff]), 'a message that is not a hedgerow'],
    [
      'a message over 8 KiB',
      Buffer.concat([encodeRequest({ heartbeat: {} }), Buffer.from([0x7a, 0x80, 0x40]), Buffer.alloc(8192)]),
      'a message of 8197 bytes',
    ],
  ])('REG-20: %s: INVALID_ARGUMENT; one that was registered leaves', async (_, bytes, words) => {
    const rig = await start();
    const raw = await connect(rig);
    const first = await raw.call(register, { messages: [bytes], end: false }).done();
    expect([first.status, decodeURI(first.message ?? '')]).toEqual([3, expect.stringContaining(words)]);
    const call = await registered(raw);
    void call.sendMessage(bytes);
    await call.done();
    expect([call.status, decodeURI(call.message ?? '')]).toEqual([3, expect.stringContaining(words)]);
    expect(rig.told.slice(1)).toEqual([expect.stringContaining('drain b1 1: its registration was ended: a message')]);
  });

  it('REG-21: a message over 64 KiB: RESOURCE_EXHAUSTED, and it is lost', async () => {
    const rig = await start();
    const call = await registered(await connect(rig));
    void call.sendMessage(Buffer.alloc(65 * 1024));
    await call.done();
    expect(call.status).toBe(8);
    expect((await rig.whenTold(2)).slice(1)).toEqual(lost);
  });

  it('REG-19: a message of a kind that is not known: told, and the registration stands', async () => {
    const rig = await start();
    const call = await registered(await connect(rig));
    // Field 15, of length 0.
    void call.sendMessage(Buffer.from([0x7a, 0]));
    const [, reply] = await call.whenMessages(2);
    expect(reply?.toString()).toContain('this version of hedgerow knows no such message');
    expect(rig.told).toHaveLength(1);
  });

  it('REG-22: a stream that ends without a registration: INVALID_ARGUMENT', async () => {
    const rig = await start();
    const call = await (await connect(rig)).call(register).done();
    expect([call.status, call.message]).toEqual([3, encodeURI('the stream ended without a registration')]);
  });

  it('REG-30: answers that are not read: no more of its messages are taken until they are', async () => {
    const rig = await start();
    // Once the registration is answered there is no window left: no answer of ours can leave.
    const raw = await connect(rig, { settings: [[4, 20]], windows: 'none' });
    const call = await registered(raw);
    for (let i = 0; i < 100; i += 1) void call.sendMessage(encodeRequest({ update: { weight: 1 + (i % 2) } }));
    for (let i = 0; i < 5; i += 1) await raw.ping();
    expect(rig.told.length).toBeGreaterThan(5);
    expect(rig.told.length).toBeLessThan(50);
    call.raw.giveWindow(10_000);
    await rig.whenTold(100);
  });
});
