import { describe, expect, it } from 'vitest';
import { noDirectives } from '../../../src/grpc/directives.js';
import { type IncomingCall, type RequestVerdict, readRequest } from '../../../src/grpc/request.js';
import { lines, pairs } from './lines.js';

const prefix = 'hedgerow-';

type Pair = readonly [string, string];

/** A request as a client sends it, with these lines after the usual ones. */
function request(extra: readonly Pair[] = [], changes: Record<string, string | null> = {}): RequestVerdict {
  const usual: Record<string, string | null> = {
    ':method': 'POST',
    ':scheme': 'http',
    ':path': '/demo.Echo/Say',
    ':authority': 'echo.example',
    te: 'trailers',
    'content-type': 'application/grpc',
    ...changes,
  };
  const present = Object.entries(usual).filter((pair): pair is [string, string] => pair[1] !== null);
  return readRequest(lines([...present, ...extra]), prefix, true);
}

function call(extra: readonly Pair[] = [], changes: Record<string, string | null> = {}): IncomingCall {
  const verdict = request(extra, changes);
  if (verdict.kind !== 'call') throw new Error(`not a call: ${JSON.stringify(verdict)}`);
  return verdict.call;
}

describe('a request that is a call', () => {
  it('is taken apart', () => {
    expect(call([['grpc-timeout', '250m']])).toMatchObject({
      path: '/demo.Echo/Say',
      authority: 'echo.example',
      timeout: 250,
      previous: 0,
      directives: noDirectives,
    });
    expect(call().directives).toBe(noDirectives);
    expect(call().timeout).toBeNull();
    expect(call().previousFields).toEqual([]);
  });

  it('may have any path that begins with /: methods are the backend’s affair', () => {
    for (const path of ['/', '/a', '/a/b/c', '/UPPER/%20', '/grpc.health.v1.Health/Check'])
      expect(call([], { ':path': path }).path).toBe(path);
  });

  it.each([
    ['application/grpc'],
    ['application/grpc+proto'],
    ['application/grpc+json'],
    ['application/grpc;charset=utf-8'],
    ['APPLICATION/GRPC'],
    ['Application/Grpc+Proto'],
  ])('is gRPC by content-type %s', (type) => {
    expect(request([], { 'content-type': type }).kind).toBe('call');
  });

  it('MD-13: keeps the client’s own lines: the same objects, repeats and order', () => {
    const own: Pair[] = [
      ['user-agent', 'test/1'],
      ['x-twice', 'a'],
      ['blob-bin', 'AAEC=='],
      ['x-twice', 'b'],
      ['grpc-encoding', 'gzip'],
      ['grpc-accept-encoding', 'gzip,identity'],
      ['grpc-trace-bin', 'AA'],
      ['x-empty', ''],
    ];
    const fields = lines([
      [':method', 'POST'],
      [':scheme', 'https'],
      [':path', '/a/b'],
      [':authority', 'x'],
      ['content-type', 'application/grpc+proto'],
      ...own,
    ]);
    const verdict = readRequest(fields, prefix, true);
    expect(verdict.kind === 'call' && pairs(verdict.call.fields)).toEqual([
      ['content-type', 'application/grpc+proto'],
      ...own,
    ]);
    expect(verdict.kind === 'call' && verdict.call.fields[3]).toBe(fields[7]);
    expect(verdict.kind === 'call' && verdict.call.pathField).toBe(fields[2]);
    expect(verdict.kind === 'call' && verdict.call.authorityField).toBe(fields[3]);
  });

  it('loses te, connection-specific fields, the timeout, the count of attempts and the prefix’s keys', () => {
    const { fields } = call([
      ['connection', 'close'],
      ['keep-alive', '5'],
      ['proxy-connection', 'x'],
      ['transfer-encoding', 'chunked'],
      ['upgrade', 'h2c'],
      ['host', 'other.example'],
      ['grpc-timeout', '1S'],
      ['grpc-previous-rpc-attempts', '2'],
      ['hedgerow-pin', 'a'],
      ['hedgerow-session', 's'],
      ['hedgerow-exclude', 'b'],
      ['hedgerow-allow-retry', 'true'],
      ['hedgerow-retry', 'off'],
      ['hedgerow-', 'x'],
      ['hedgerow-unknown-bin', 'AA'],
      ['x-kept', '1'],
    ]);
    expect(pairs(fields)).toEqual([
      ['content-type', 'application/grpc'],
      ['x-kept', '1'],
    ]);
  });

  it('keeps names that only look like those', () => {
    const alike: Pair[] = [
      ['tf', '1'],
      ['hosts', '1'],
      ['post', '1'],
      ['x-path', '1'],
      ['xpath', '1'],
      ['upgrad', '1'],
      ['upgrada', '1'],
      ['connectiom', '1'],
      ['keep-alivf', '1'],
      ['content-typf', '1'],
      ['grpc-timeoux', '1'],
      ['proxy-connectioo', '1'],
      ['transfer-encodinf', '1'],
      ['grpc-previous-rpc-attempty', '1'],
      ['hedgerow', '1'],
      ['hedgerows-pin', '1'],
      ['xhedgerow-pin', '1'],
      ['h', '1'],
    ];
    expect(pairs(call(alike).fields).slice(1)).toEqual(alike);
  });

  it('MD-07: keeps the client’s count of attempts as a number and as it came', () => {
    const incoming = call([['grpc-previous-rpc-attempts', '7']]);
    expect(incoming.previous).toBe(7);
    expect(pairs(incoming.previousFields)).toEqual([['grpc-previous-rpc-attempts', '7']]);
  });

  it('MD-08: a malformed or repeated count of attempts is 0', () => {
    expect(call([['grpc-previous-rpc-attempts', 'abc']]).previous).toBe(0);
    const twice = call([
      ['grpc-previous-rpc-attempts', '1'],
      ['grpc-previous-rpc-attempts', '2'],
    ]);
    expect(twice.previous).toBe(0);
    expect(twice.previousFields).toHaveLength(2);
  });

  it('has the authority of its host where it has no :authority, and none where it has neither', () => {
    const byHost = call([['host', 'old.example']], { ':authority': null });
    expect([byHost.authority, byHost.authorityField]).toEqual(['old.example', null]);
    expect(call([['host', 'old.example']]).authority).toBe('echo.example');
    expect(call([], { ':authority': null }).authority).toBe('');
  });

  it.each([
    ['off', 'off'],
    ['OFF', 'off'],
    [' off\t', 'off'],
    ['on', 'on'],
    ['', 'on'],
    ['false', 'on'],
    ['offf', 'on'],
  ])('hedgerow-retry: %j means %s, and never fails a call', (value, retry) => {
    expect(call([['hedgerow-retry', value]]).directives.retry).toBe(retry);
  });

  it('hedgerow-retry sent twice means nothing, whatever it says', () => {
    for (const values of [
      ['off', 'on'],
      ['on', 'off'],
      ['off', 'off'],
    ])
      expect(call(values.map((value) => ['hedgerow-retry', value] as const)).directives.retry).toBe('on');
  });

  it('only the very key switches retries off, under the prefix in force', () => {
    expect(call([['hedgerow-allow-retry', 'off']]).directives.retry).toBe('on');
    expect(call([['hedgerow-reury', 'off']]).directives.retry).toBe('on');
    const other = readRequest(
      lines([
        [':method', 'POST'],
        [':path', '/a/b'],
        ['content-type', 'application/grpc'],
        ['edge-retry', 'off'],
        ['hedgerow-retry', 'off'],
      ]),
      'edge-',
      true,
    );
    expect(other.kind === 'call' && other.call.directives.retry).toBe('off');
    expect(other.kind === 'call' && pairs(other.call.fields)).toContainEqual(['hedgerow-retry', 'off']);
  });
});

describe('directives in a request', () => {
  const bad: Pair[] = [['hedgerow-pin', '']];

  it('are read by the prefix in force', () => {
    expect(call([['hedgerow-pin', 'a']]).directives.pin).toBe('a');
    expect(call([['edge-pin', 'a']]).directives).toBe(noDirectives);
  });

  it('that are bad end the call: INVALID_ARGUMENT, naming the key', () => {
    expect(request(bad)).toEqual({
      kind: 'status',
      code: 3,
      reason: 'invalid_directive',
      detail: 'hedgerow-pin is empty: it must be the name of one backend',
    });
  });

  it('PIN-30: none of the prefix’s keys is among the lines for backends, known or not', () => {
    const keys = [
      'pin',
      'session',
      'exclude',
      'retry',
      'allow-retry',
      'allow-retry-bin',
      'backend',
      'call-id',
      'x',
      '',
    ];
    const sent = keys.map((key): Pair => [`hedgerow-${key}`, `v${key}`]);
    expect(pairs(call([...sent, ['x-own', '1']]).fields)).toEqual([
      ['content-type', 'application/grpc'],
      ['x-own', '1'],
    ]);
  });

  it('PIN-29: are judged after what is no gRPC or malformed, and before a deadline that is over', () => {
    expect(request(bad, { ':method': 'GET' })).toMatchObject({ status: 405 });
    expect(request(bad, { 'content-type': 'text/html' })).toMatchObject({ status: 415 });
    expect(request(bad, { ':path': 'x' })).toMatchObject({ reason: 'malformed_request' });
    expect(request([...bad, ['grpc-timeout', 'x']])).toMatchObject({ reason: 'malformed_request' });
    expect(request([...bad, ['grpc-timeout', '0S']])).toMatchObject({ reason: 'invalid_directive' });
  });

  it('PIN-32: are removed and have no effect where they are switched off, bad ones too', () => {
    const verdict = readRequest(
      lines([
        [':method', 'POST'],
        [':path', '/a/b'],
        ['content-type', 'application/grpc'],
        ...bad,
        ['hedgerow-pin', 'a'],
        ['hedgerow-exclude', 'a'],
        ['hedgerow-session-bin', 'AA'],
        ['hedgerow-allow-retry', 'true'],
        ['hedgerow-retry', 'off'],
      ]),
      prefix,
      false,
    );
    expect(verdict.kind === 'call' && verdict.call.directives).toBe(noDirectives);
    expect(verdict.kind === 'call' && pairs(verdict.call.fields)).toEqual([['content-type', 'application/grpc']]);
  });
});

describe('a request that is not gRPC', () => {
  it.each([['GET'], ['PUT'], ['OPTIONS'], ['CONNECT'], ['post'], ['']])('method %j: HTTP 405', (method) => {
    const verdict = request([], { ':method': method });
    expect(verdict).toMatchObject({ kind: 'http', status: 405 });
    expect(verdict.kind === 'http' && pairs(verdict.headers)).toEqual([
      [':status', '405'],
      ['allow', 'POST'],
      ['content-type', 'text/plain; charset=utf-8'],
    ]);
    expect(verdict.kind === 'http' && verdict.body).toContain('POST');
  });

  it.each([
    ['application/json'],
    ['application/grpc-web'],
    ['application/grpc-web+proto'],
    ['application/grpcx'],
    ['application/grpc '],
    ['application/grp'],
    ['application/grpd'],
    ['xapplication/grpc'],
    ['applicatiom/grpc+proto'],
    ['application/json;application/grpc'],
    [''],
  ])('content-type %j: HTTP 415', (type) => {
    const verdict = request([], { 'content-type': type });
    expect(verdict).toMatchObject({ kind: 'http', status: 415 });
    expect(verdict.kind === 'http' && pairs(verdict.headers)).toEqual([
      [':status', '415'],
      ['content-type', 'text/plain; charset=utf-8'],
    ]);
    expect(verdict.kind === 'http' && verdict.body).toContain(JSON.stringify(type));
  });

  it('no content-type: HTTP 415 that says so', () => {
    const verdict = request([], { 'content-type': null });
    expect(verdict).toMatchObject({ kind: 'http', status: 415 });
    expect(verdict.kind === 'http' && verdict.body).toContain('there is none');
  });

  it('content-type repeated: each has to be gRPC’s', () => {
    expect(request([['content-type', 'text/html']]).kind).toBe('http');
    expect(request([['content-type', 'application/grpc']], { 'content-type': 'text/html' }).kind).toBe('http');
    expect(request([['content-type', 'application/grpc+proto']]).kind).toBe('call');
  });

  it('a body quotes a long content-type in part only', () => {
    const verdict = request([], { 'content-type': 'x'.repeat(10_000) });
    expect(verdict.kind === 'http' && verdict.body).toContain(`it is "${'x'.repeat(64)}…".`);
    const whole = request([], { 'content-type': 'x'.repeat(64) });
    expect(whole.kind === 'http' && whole.body).toContain(`it is "${'x'.repeat(64)}".`);
  });

  it('the method is judged first, then the content-type, then the rest', () => {
    const bad = { 'content-type': 'text/html', ':path': 'x' };
    expect(request([['grpc-timeout', 'x']], { ...bad, ':method': 'GET' })).toMatchObject({ status: 405 });
    expect(request([['grpc-timeout', 'x']], bad)).toMatchObject({ status: 415 });
  });
});

describe('a call that ends before it begins', () => {
  it('CAN-10: a timeout of zero: DEADLINE_EXCEEDED', () => {
    for (const value of ['0S', '00000000n'])
      expect(request([['grpc-timeout', value]])).toMatchObject({
        kind: 'status',
        code: 4,
        reason: 'deadline_exceeded',
        detail: 'the deadline was over when the call arrived (grpc-timeout is 0)',
      });
  });

  it('a malformed timeout: INTERNAL, quoting it', () => {
    for (const value of ['1s', '-1S', '', '123456789S']) {
      const verdict = request([['grpc-timeout', value]]);
      expect(verdict).toMatchObject({ kind: 'status', code: 13, reason: 'malformed_request' });
      expect(verdict.kind === 'status' && verdict.detail).toContain(`grpc-timeout is ${JSON.stringify(value)}`);
    }
  });

  it('a repeated timeout: INTERNAL, equal or zero ones too', () => {
    for (const values of [
      ['1S', '1S'],
      ['0S', '1S'],
      ['1S', '0S'],
      ['1S', 'x'],
    ]) {
      const verdict = request(values.map((value) => ['grpc-timeout', value] as const));
      expect(verdict).toMatchObject({ kind: 'status', code: 13, reason: 'malformed_request' });
      expect(verdict.kind === 'status' && verdict.detail).toContain('more than one grpc-timeout');
    }
  });

  it('no path, or one that does not begin with /: INTERNAL', () => {
    const none = request([], { ':path': null });
    expect(none).toMatchObject({ kind: 'status', code: 13, reason: 'malformed_request' });
    expect(none.kind === 'status' && none.detail).toContain('no :path');
    for (const path of ['', '*', 'demo.Echo/Say', 'http://x/y']) {
      const verdict = request([], { ':path': path });
      expect(verdict).toMatchObject({ kind: 'status', code: 13, reason: 'malformed_request' });
      expect(verdict.kind === 'status' && verdict.detail).toContain(JSON.stringify(path));
    }
  });
});
