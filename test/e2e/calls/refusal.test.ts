import { describe, expect, it } from 'vitest';
import type { Line } from '../../support/frames.js';
import { frameMessage } from '../../support/grpc-lines.js';
import { behave } from '../../support/raw-peer.js';
import { method, one, retry } from '../../support/rig.js';

describe('What is no call', () => {
  it.each([
    ['a malformed', [['grpc-timeout', '1']]],
    ['a malformed', [['grpc-timeout', 'S']]],
    ['a malformed', [['grpc-timeout', '123456789m']]],
    ['a malformed', [['grpc-timeout', '-1S']]],
    ['a malformed', [['grpc-timeout', '1s']]],
    ['a malformed', [['grpc-timeout', '1.5S']]],
    ['an empty', [['grpc-timeout', '']]],
    [
      'a repeated',
      [
        ['grpc-timeout', '1S'],
        ['grpc-timeout', '1S'],
      ],
    ],
  ] as readonly (readonly [string, Line[]])[])(
    '%s grpc-timeout is INTERNAL malformed_request, no backend contacted: %j',
    async (_, headers) => {
      const { proxy: p, client: c, backend: b } = await one();
      const call = await c.call(method, { headers }).done();
      expect(call.status).toBe(13);
      // Told to operators like any other call that failed (D22).
      expect(await p.call(0)).toMatchObject({ method, code: 13, reason: 'malformed_request', attempts: [] });
      expect(call.trailersOnly).toBe(true);
      expect(call.trailer('hedgerow-stop-reason')).toBe('malformed_request');
      expect(call.trailer('hedgerow-retries')).toBe('0');
      expect(call.message).toContain('grpc-timeout');
      expect(b.streams).toHaveLength(0);
    },
  );

  it.each(['0H', '0M', '0S', '0m', '0u', '00000000n'])(
    'CAN-10: a grpc-timeout of %s is over at once: DEADLINE_EXCEEDED, no backend contacted',
    async (timeout) => {
      const { client: c, backend: b } = await one({
        proxy: { serviceConfig: retry({ codes: ['DEADLINE_EXCEEDED'] }) },
      });
      const call = await c.call(method, { headers: [['grpc-timeout', timeout]], messages: ['m'], end: false }).done();
      expect(call.status).toBe(4);
      expect(call.trailersOnly).toBe(true);
      expect(call.trailer('hedgerow-stop-reason')).toBe('deadline_exceeded');
      expect(b.streams).toHaveLength(0);
    },
  );

  it.each([
    ['application/json', 415],
    ['application/grpc-web', 415],
    ['application/grpc-web+proto', 415],
    ['application/grpcx', 415],
    ['application/grpc', 200],
    ['application/grpc+json', 200],
    ['application/grpc;charset=utf-8', 200],
  ] as const)('content-type %s is answered %i', async (type, status) => {
    const { client: c, backend: b } = await one();
    const lines: Line[] = [
      [':method', 'POST'],
      [':scheme', 'http'],
      [':path', method],
      [':authority', 'x'],
      ['content-type', type],
    ];
    const call = await c.call(method, { lines }).done();
    expect(call.header(':status')).toBe(String(status));
    expect(b.streams).toHaveLength(status === 200 ? 1 : 0);
    if (status === 200) return;
    expect(call.header('content-type')).toMatch(/^text\/plain/);
    expect(call.data.toString()).toMatch(/content-type/);
    expect(call.end).toEqual({ kind: 'ended' });
  });

  it.each(['GET', 'PUT', 'OPTIONS'])('method %s is answered 405 with allow', async (verb) => {
    const { client: c, backend: b } = await one();
    const lines: Line[] = [
      [':method', verb],
      [':scheme', 'http'],
      [':path', method],
      [':authority', 'x'],
      ['content-type', 'application/grpc'],
    ];
    const call = await c.call(method, { lines }).done();
    expect(call.header(':status')).toBe('405');
    expect(call.header('allow')).toBe('POST');
    expect(call.header('content-type')).toMatch(/^text\/plain/);
    expect(call.data.length).toBeGreaterThan(0);
    expect(b.streams).toHaveLength(0);
  });

  it('request trailers are refused: INTERNAL malformed_request, the attempt is reset, none follows', async () => {
    const { client: c, backend: b } = await one({ proxy: { serviceConfig: retry({ codes: ['INTERNAL'] }) } });
    b.behave(behave.silent);
    const call = c.call(method, { messages: ['m'], end: false });
    const stream = await b.nextStream();
    await stream.whenMessages(1);
    call.raw.sendBlock([['x-trailer', '1']], true);
    await call.done();
    expect(call.status).toBe(13);
    expect(call.trailer('hedgerow-stop-reason')).toBe('malformed_request');
    expect(await stream.whenReset()).toBe(8);
    expect(stream.raw.blocks).toHaveLength(1);
    expect(b.streams).toHaveLength(1);
  });

  it('a request that ends within a message is refused: INTERNAL malformed_request', async () => {
    const { client: c, backend: b } = await one();
    b.behave(behave.silent);
    const call = c.call(method, { end: false });
    const stream = await b.nextStream();
    await call.sendData(frameMessage('cut short').subarray(0, 8), true);
    await call.done();
    expect(call.status).toBe(13);
    expect(call.trailer('hedgerow-stop-reason')).toBe('malformed_request');
    expect(await stream.whenReset()).toBe(8);
    expect(stream.ended).toBe(false);
  });
});
