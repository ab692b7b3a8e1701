import { describe, expect, it } from 'vitest';
import type { Line } from '../../support/frames.js';
import { frameMessage, headerLines, trailersOnlyLines, valuesOf } from '../../support/grpc-lines.js';
import { behave } from '../../support/raw-peer.js';
import { backend, client, method, one, proxyTo, retry } from '../../support/rig.js';

const previous = 'grpc-previous-rpc-attempts';
const fail = behave.failAfterRequest(14);

/** Lines without the proxy's own keys. */
function withoutOurs(lines: readonly Line[] | null): Line[] {
  return (lines ?? []).filter(([name]) => !name.startsWith('hedgerow-'));
}

/** Lines that every attempt must have alike. */
function custom(lines: readonly Line[]): Line[] {
  return lines.filter(([name]) => name.startsWith('x-'));
}

/** The kinds and END_STREAM flags of what came on a stream. */
const header = 1;
const endStream = 1;

describe('The count of earlier attempts', () => {
  it('MD-01, MD-02, BR-28: is absent on the first, then one more each time, one value, and not for the client', async () => {
    const { backend: b, client: c } = await one({ proxy: { serviceConfig: retry({ attempts: 4 }) } });
    b.script([fail, fail, fail, behave.ok()]);
    const call = await c.call(method).done();
    expect(call.status).toBe(0);
    expect(b.streams.map((stream) => stream.headerValues(previous))).toEqual([[], ['1'], ['2'], ['3']]);
  });

  it('MD-05: is not put into the answer', async () => {
    const { backend: b, client: c } = await one({ proxy: { serviceConfig: retry() } });
    b.script([fail, fail, behave.ok('late')]);
    const call = await c.call(method).done();
    expect(call.status).toBe(0);
    expect(valuesOf([...(call.headers ?? []), ...(call.trailers ?? [])], previous)).toEqual([]);
  });

  it('MD-06: passes where a backend answers with it', async () => {
    const { backend: b, client: c } = await one({ proxy: { serviceConfig: retry() } });
    b.script([
      fail,
      (stream) => {
        stream.sendHeaders([[previous, '9']]);
        stream.trailers(0, [[previous, '8']]);
      },
    ]);
    const call = await c.call(method).done();
    expect(call.header(previous)).toBe('9');
    expect(call.trailer(previous)).toBe('8');
  });

  it('MD-03: a transparent retry has the count of the attempt that it replaces', async () => {
    const { backend: b, client: c } = await one({ proxy: { serviceConfig: retry() } });
    b.script([behave.reset(7), behave.ok(), fail, behave.reset(7), behave.ok()]);
    expect((await c.call(method).done()).status).toBe(0);
    expect(b.streams.map((stream) => stream.header(previous))).toEqual([undefined, undefined]);
    expect((await c.call(method).done()).status).toBe(0);
    expect(b.streams.slice(2).map((stream) => stream.header(previous))).toEqual([undefined, '1', '1']);
  });

  it('MD-07, BR-28: adds to what a client says, one value, never less than its own', async () => {
    const { backend: b, client: c } = await one({ proxy: { serviceConfig: retry() } });
    b.script([fail, fail, behave.ok()]);
    await c.call(method, { headers: [[previous, '7']] }).done();
    expect(b.streams.map((stream) => stream.headerValues(previous))).toEqual([['7'], ['8'], ['9']]);
  });

  it.each([
    ['abc', [[previous, 'abc']]],
    ['-1', [[previous, '-1']]],
    ['empty', [[previous, '']]],
    [
      'two values',
      [
        [previous, '3'],
        [previous, '4'],
      ],
    ],
  ] as readonly (readonly [string, Line[]])[])(
    'MD-08: what a client says and cannot mean (%s) counts as nothing',
    async (_, headers) => {
      const { backend: b, client: c } = await one({ proxy: { serviceConfig: retry() } });
      b.script([fail, behave.ok()]);
      await c.call(method, { headers }).done();
      expect(b.streams.map((stream) => stream.headerValues(previous))).toEqual([[], ['1']]);
    },
  );

  it('MD-07: without a policy it passes as it came', async () => {
    const { backend: b, client: c } = await one();
    await c
      .call(method, {
        headers: [
          [previous, 'abc'],
          [previous, '7'],
        ],
      })
      .done();
    expect(b.streams[0]?.headerValues(previous)).toEqual(['abc', '7']);
  });
});

describe('What a backend gets', () => {
  const lines: readonly Line[] = [
    ['user-agent', 'grpc-c/46.0.0 (linux; chttp2)'],
    ['x-two', 'b'],
    ['x-bin', 'AAECAw=='],
    ['x-two', 'a'],
    ['x-bin', 'AAECAw'],
    ['x-many-bin', 'AAEC,AwQF'],
    ['x-empty', ''],
    ['x-high', 'caf\u00e9 %20 %zz'],
    ['grpc-accept-encoding', 'identity, deflate, gzip'],
  ];

  it('MD-13, BUF-17: the same lines on each attempt: repeats, their order, -bin padding, percent signs', async () => {
    const { backend: b, client: c } = await one({ proxy: { serviceConfig: retry() } });
    b.script([fail, fail, behave.ok()]);
    await c.call(method, { headers: lines }).done();
    for (const [nth, stream] of b.streams.entries()) {
      expect(stream.headers.filter(([name]) => !name.startsWith(':') && name !== previous)).toEqual([
        ['te', 'trailers'],
        ['content-type', 'application/grpc'],
        ...lines,
      ]);
      expect(stream.header(previous)).toBe(nth === 0 ? undefined : String(nth));
    }
  });

  it('BUF-17: each attempt gets a fresh grpc-timeout and count, and the same custom headers', async () => {
    const { backend: b, client: c } = await one({ proxy: { serviceConfig: retry() } });
    b.script([fail, fail, behave.ok()]);
    await c.call(method, { headers: [...lines, ['grpc-timeout', '30S']] }).done();
    expect(new Set(b.streams.map((stream) => stream.header('grpc-timeout'))).size).toBe(3);
    expect(b.streams.map((stream) => stream.header(previous))).toEqual([undefined, '1', '2']);
    for (const stream of b.streams) {
      expect(stream.headerValues('grpc-timeout')).toHaveLength(1);
      expect(custom(stream.headers)).toEqual(custom(lines));
    }
  });

  it('sends te: trailers once, where the client says it twice and where it does not', async () => {
    const { backend: b, client: c } = await one();
    await c.call(method, { headers: [['te', 'trailers']] }).done();
    const bare: Line[] = [
      [':method', 'POST'],
      [':scheme', 'http'],
      [':path', method],
      ['content-type', 'application/grpc'],
    ];
    await c.call(method, { lines: bare }).done();
    expect(b.streams.map((stream) => stream.headerValues('te'))).toEqual([['trailers'], ['trailers']]);
  });

  it.each(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'])(
    'never sends the connection-specific field %s on: the stream is refused (RFC 9113 8.2.2)',
    async (name) => {
      const { backend: b, client: c } = await one();
      const call = await c.call(method, { headers: [[name, 'x']] }).done();
      expect(call.end).toEqual({ kind: 'reset', code: 1 });
      expect(b.streams).toHaveLength(0);
    },
  );

  it('sends :scheme of the backend connection', async () => {
    const { backend: b, client: c } = await one();
    const asHttps: Line[] = [
      [':method', 'POST'],
      [':scheme', 'https'],
      [':path', method],
      [':authority', 'svc.example'],
      ['content-type', 'application/grpc+proto'],
    ];
    await c.call(method, { lines: asHttps }).done();
    expect(b.streams[0]?.header(':scheme')).toBe('http');
    expect(b.streams[0]?.header('content-type')).toBe('application/grpc+proto');
  });

  it('MD-14, BR-27: the client’s :authority and :path on every attempt, whichever backend', async () => {
    const backends = [await backend({ name: 'a' }), await backend({ name: 'b' })];
    const proxy = await proxyTo(backends, { serviceConfig: retry() });
    const c = await client(proxy);
    for (const b of backends) b.behave(fail);
    await c.call('/pkg.Svc/%41', { authority: 'User.Example:80' }).done();
    const streams = backends.flatMap(({ streams: got }) => got);
    expect(streams).toHaveLength(3);
    for (const stream of streams) {
      expect(stream.headerValues(':authority')).toEqual(['User.Example:80']);
      expect(stream.headerValues(':path')).toEqual(['/pkg.Svc/%41']);
    }
    expect(backends.every(({ streams: got }) => got.length > 0)).toBe(true);
  });

  it('MD-14, BR-27: with --backend-authority target each backend’s own, with a fixed one that', async () => {
    const backends = [await backend({ name: 'a' }), await backend({ name: 'b' })];
    for (const b of backends) b.behave(fail);
    const proxy = await proxyTo(backends, {
      serviceConfig: retry({ attempts: 2 }),
      flags: ['--backend-authority', 'target'],
    });
    await (await client(proxy)).call(method).done();
    for (const { streams, address } of backends) {
      expect(streams.map((stream) => stream.headerValues(':authority'))).toEqual([[address]]);
    }
    const fixed = await proxyTo(backends, {
      serviceConfig: retry({ attempts: 2 }),
      flags: ['--backend-authority', 'svc.example:443'],
    });
    await (await client(fixed)).call(method).done();
    for (const { streams } of backends) {
      expect(streams[1]?.headerValues(':authority')).toEqual(['svc.example:443']);
    }
  });

  it('takes :authority from host where the client has none, and sends no host', async () => {
    const { backend: b, client: c } = await one();
    const lines1: Line[] = [
      [':method', 'POST'],
      [':scheme', 'http'],
      [':path', method],
      ['host', 'by-host.example'],
      ['content-type', 'application/grpc'],
    ];
    await c.call(method, { lines: lines1 }).done();
    expect(b.streams[0]?.header(':authority')).toBe('by-host.example');
    expect(b.streams[0]?.headerValues('host')).toEqual([]);
  });

  it('gets no key of the prefix, known or not, on any attempt', async () => {
    const { backend: b, client: c } = await one({ proxy: { serviceConfig: retry() } });
    b.script([fail, behave.ok()]);
    await c
      .call(method, {
        headers: [
          ['hedgerow-allow-retry', 'true'],
          ['hedgerow-anything', 'x'],
          ['hedgerow-x-bin', 'AA'],
          ['hedgerowx', 'stays'],
          ['x-hedgerow-x', 'stays'],
        ],
      })
      .done();
    for (const stream of b.streams) {
      expect(stream.headers.filter(([name]) => name.startsWith('hedgerow-'))).toEqual([]);
      expect(stream.header('hedgerowx')).toBe('stays');
      expect(stream.header('x-hedgerow-x')).toBe('stays');
    }
    expect(b.streams).toHaveLength(2);
  });

  it('hedgerow-retry: off ends policy attempts for its call', async () => {
    const { backend: b, client: c } = await one({ proxy: { serviceConfig: retry() } });
    b.script([fail, fail, behave.ok()]);
    const off = await c.call(method, { headers: [['hedgerow-retry', ' OFF ']] }).done();
    expect(off.status).toBe(14);
    expect(off.trailer('hedgerow-stop-reason')).toBe('no_policy');
    const other = await c.call(method, { headers: [['hedgerow-retry', 'nonsense']] }).done();
    expect(other.status).toBe(0);
    expect(other.trailer('hedgerow-retries')).toBe('1');
  });

  it('gets a never-indexed line never-indexed, on every attempt; answers too', async () => {
    const { backend: b, client: c } = await one({ proxy: { serviceConfig: retry() } });
    b.script([
      fail,
      (stream) => {
        stream.block(headerLines([['x-token', 'initial']]), false, ['x-token']);
        stream.block(
          [
            ['grpc-status', '0'],
            ['x-secret', 'end'],
            ['x-open', 'y'],
          ],
          true,
          ['x-secret'],
        );
      },
    ]);
    const call = c.call(method, {
      headers: [
        ['x-secret', 's3cret'],
        ['x-open', 'y'],
      ],
      neverIndexed: ['x-secret'],
    });
    await call.done();
    for (const stream of b.streams) expect(stream.neverIndexed).toEqual(['x-secret']);
    expect(b.streams).toHaveLength(2);
    expect(call.neverIndexed).toEqual(['x-token', 'x-secret']);
    expect(call.header('x-token')).toBe('initial');
  });
});

describe('What a client gets', () => {
  it('MD-09: nothing of an attempt that was retried', async () => {
    const { backend: b, client: c } = await one({ proxy: { serviceConfig: retry() } });
    b.script([
      behave.fail(14, [
        ['grpc-message', 'first'],
        ['x-fail', '1'],
        ['grpc-retry-pushback-ms', '5'],
      ]),
      async (stream) => {
        stream.sendHeaders([['x-good', '1']]);
        await stream.sendMessage('m');
        stream.trailers(0, [['x-end', '2']]);
      },
    ]);
    const call = await c.call(method).done();
    expect(withoutOurs(call.headers)).toEqual(headerLines([['x-good', '1']]));
    expect(withoutOurs(call.trailers)).toEqual([
      ['grpc-status', '0'],
      ['x-end', '2'],
    ]);
    expect(call.messages.map(String)).toEqual(['m']);
  });

  it('MD-10, MD-12: when all fail the last answer alone, its grpc-message verbatim', async () => {
    const { backend: b, client: c } = await one({ proxy: { serviceConfig: retry() } });
    b.script(
      ['a%20b', 'mid', 'last %E2%82%AC 100%25 %zz'].map((text, nth) =>
        behave.fail(14, [
          ['grpc-message', text],
          [`x-fail-${nth}`, String(nth)],
        ]),
      ),
    );
    const call = await c.call(method).done();
    expect(withoutOurs(call.trailers)).toEqual(
      trailersOnlyLines(14, [
        ['grpc-message', 'last %E2%82%AC 100%25 %zz'],
        ['x-fail-2', '2'],
      ]),
    );
    expect(call.trailersOnly).toBe(true);
    expect(call.trailer('hedgerow-retries')).toBe('2');
    expect(call.trailer('hedgerow-stop-reason')).toBe('attempts_exhausted');
  });

  it('MD-15: grpc-status-details-bin and a final pushback as they came, repeats and -bin padding kept', async () => {
    const extra: Line[] = [
      ['grpc-status-details-bin', 'CAUSBHRlc3Q='],
      ['grpc-retry-pushback-ms', '-1'],
      ['x-b', '2'],
      ['x-b', '1'],
      ['x-bin', 'AAE'],
      ['x-bin', 'AAE='],
    ];
    const { backend: b, client: c } = await one({ proxy: { serviceConfig: retry() } });
    b.script([
      behave.fail(14, extra),
      (stream) => {
        stream.sendHeaders(extra.slice(2));
        stream.trailers(5, extra);
      },
    ]);
    const only = await c.call(method).done();
    expect(withoutOurs(only.trailers)).toEqual(trailersOnlyLines(14, extra));
    const two = await c.call(method).done();
    expect(withoutOurs(two.headers)).toEqual(headerLines(extra.slice(2)));
    expect(withoutOurs(two.trailers)).toEqual([['grpc-status', '5'], ...extra]);
  });

  it('invents nothing: no date, no server', async () => {
    const { client: c, backend: b } = await one();
    b.behave(behave.ok('m'));
    const call = await c.call(method).done();
    expect(withoutOurs(call.headers)).toEqual(headerLines([]));
    expect(withoutOurs(call.trailers)).toEqual([['grpc-status', '0']]);
  });

  it('Trailers-Only stays one HEADERS frame, headers and trailers stay two, with no message between', async () => {
    const { client: c, backend: b } = await one();
    b.script([behave.fail(5), behave.ok(), behave.fail(0)]);
    const framesOf = (id: number): string[] =>
      c.connection.frames
        .filter((frame) => frame.streamId === id && frame.type <= header)
        .map(({ type, flags }) => `${type === header ? 'HEADERS' : 'DATA'}${(flags & endStream) === 0 ? '' : ' END'}`);
    expect(framesOf((await c.call(method).done()).id)).toEqual(['HEADERS END']);
    expect(framesOf((await c.call(method).done()).id)).toEqual(['HEADERS', 'HEADERS END']);
    expect(framesOf((await c.call(method).done()).id)).toEqual(['HEADERS END']);
  });

  it('gets compressed messages with their flags, and grpc-encoding as it came', async () => {
    const bytes = Buffer.concat([frameMessage('zipped', true), frameMessage('plain'), frameMessage('', true)]);
    const { client: c, backend: b } = await one();
    b.behave(async (stream) => {
      stream.sendHeaders([['grpc-encoding', 'gzip']]);
      await stream.sendData(bytes);
      stream.trailers(0);
    });
    const call = await c.call(method).done();
    expect(call.data).toEqual(bytes);
    expect(call.header('grpc-encoding')).toBe('gzip');
  });

  it('gets no key of the prefix from a backend, in headers, trailers or Trailers-Only', async () => {
    const { client: c, backend: b } = await one({ proxy: { flags: ['--response-metadata', 'off'] } });
    const forged: Line[] = [
      ['hedgerow-backend', 'forged'],
      ['hedgerow-retries', '99'],
      ['hedgerow-foo-bin', 'AA'],
    ];
    b.script([
      (stream) => {
        stream.sendHeaders(forged);
        stream.trailers(0, forged);
      },
      behave.fail(3, forged),
    ]);
    const two = await c.call(method).done();
    expect(two.headers).toEqual(headerLines([]));
    expect(two.trailers).toEqual([['grpc-status', '0']]);
    expect((await c.call(method).done()).trailers).toEqual(trailersOnlyLines(3, []));
  });
});

describe('Our own keys', () => {
  it('names the backend in headers and trailers, counts retries always, tells the stop reason where not OK', async () => {
    const { client: c, backend: b } = await one({ proxy: { serviceConfig: retry() } });
    b.script([behave.ok(), fail, behave.ok(), behave.fail(5)]);
    const good = await c.call(method).done();
    expect(good.header('hedgerow-backend')).toBe('b');
    expect(good.trailer('hedgerow-backend')).toBe('b');
    expect(good.trailer('hedgerow-retries')).toBe('0');
    expect(good.trailer('hedgerow-stop-reason')).toBeUndefined();
    const again = await c.call(method).done();
    expect(again.trailer('hedgerow-retries')).toBe('1');
    expect(again.trailer('hedgerow-stop-reason')).toBeUndefined();
    const fatal = await c.call(method).done();
    expect(fatal.trailersOnly).toBe(true);
    expect(fatal.trailer('hedgerow-backend')).toBe('b');
    expect(fatal.trailer('hedgerow-retries')).toBe('0');
    expect(fatal.trailer('hedgerow-stop-reason')).toBe('fatal_status');
  });

  it('names the backend that answered, not the one that failed before', async () => {
    const backends = [await backend({ name: 'a' }), await backend({ name: 'b' })];
    const [a, b] = backends;
    a?.behave(fail);
    b?.behave(behave.ok());
    const proxy = await proxyTo(backends, { serviceConfig: retry() });
    const c = await client(proxy);
    for (let i = 0; i < 2; i += 1) {
      const call = await c.call(method).done();
      expect(call.header('hedgerow-backend')).toBe('b');
      expect(call.trailer('hedgerow-backend')).toBe('b');
    }
    expect(a?.streams).toHaveLength(1);
  });

  it('names no backend where none was reached', async () => {
    const gone = await backend({ name: 'gone' });
    await gone.close();
    const proxy = await proxyTo([gone], { connected: false });
    const call = await (await client(proxy)).call(method).done();
    expect(call.status).toBe(14);
    expect(call.trailersOnly).toBe(true);
    expect(call.trailer('hedgerow-backend')).toBeUndefined();
    expect(call.trailer('hedgerow-retries')).toBe('0');
    expect(call.trailer('hedgerow-stop-reason')).toBe('no_backend');
  });

  it('sends none with --response-metadata off, for answers made here too', async () => {
    const { client: c } = await one({ proxy: { flags: ['--response-metadata', 'off'] } });
    const good = await c.call(method).done();
    expect(good.headers).toEqual(headerLines([]));
    expect(good.trailers).toEqual([['grpc-status', '0']]);
    const bad = await c.call(method, { headers: [['grpc-timeout', 'x']] }).done();
    expect(bad.status).toBe(13);
    expect(bad.trailers?.filter(([name]) => name.startsWith('hedgerow-'))).toEqual([]);
  });

  it('--metadata-prefix names them, both ways', async () => {
    const { client: c, backend: b } = await one({ proxy: { flags: ['--metadata-prefix', 'edge'] } });
    b.behave((stream) => {
      stream.sendHeaders([
        ['edge-backend', 'forged'],
        ['hedgerow-backend', 'theirs'],
      ]);
      stream.trailers(0);
    });
    const call = await c
      .call(method, {
        headers: [
          ['edge-x', '1'],
          ['hedgerow-x', '2'],
        ],
      })
      .done();
    expect(b.streams[0]?.header('edge-x')).toBeUndefined();
    expect(b.streams[0]?.header('hedgerow-x')).toBe('2');
    expect(call.header('edge-backend')).toBe('b');
    expect(call.header('hedgerow-backend')).toBe('theirs');
    expect(call.trailer('edge-retries')).toBe('0');
    expect(call.trailer('hedgerow-retries')).toBeUndefined();
  });
});
