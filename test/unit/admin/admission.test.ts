import { describe, expect, test } from 'vitest';
import { type AdmissionRules, admit, type RequestFacts } from '../../../src/admin/admission.js';

const loopback: AdmissionRules = { hosts: new Set(['proxy.example.com']), beyondLoopback: false, isToken: () => false };
const network: AdmissionRules = { ...loopback, beyondLoopback: true, isToken: (given) => given === 'right' };

const get: RequestFacts = {
  method: 'GET',
  host: '127.0.0.1:9901',
  origin: undefined,
  fetchSite: undefined,
  fetchMode: undefined,
  fetchDest: undefined,
  authorization: undefined,
};
const post: RequestFacts = { ...get, method: 'POST' };

function statusOf(facts: RequestFacts, rules = loopback): number | null {
  return admit(facts, rules)?.status ?? null;
}

describe('Host (DNS rebinding)', () => {
  test.each([
    '127.0.0.1',
    '127.0.0.1:9901',
    '10.1.2.3:1',
    '[::1]:9901',
    '[::1]',
    '[2001:db8::7]:9901',
    'localhost',
    'localhost:9901',
    'LOCALHOST:9901',
    'localhost.:9901',
    'proxy.example.com',
    'Proxy.Example.COM:9901',
  ])('%s is served', (host) => {
    expect(statusOf({ ...get, host })).toBeNull();
    expect(statusOf({ ...post, host })).toBeNull();
  });

  test.each([
    undefined,
    '',
    'evil.example',
    'localhost.evil.example',
    'proxy.example.com.evil.example',
    'evil.example:9901',
    '127.0.0.1.evil.example',
    '0x7f.1',
    '2130706433',
    '127.1',
    '::1',
    '[::1',
    '[evil.example]',
    'localhost:9901:1',
    'localhost:x',
    'user@localhost',
    'localhost/evil.example',
    'localhost, evil.example',
    ' localhost',
  ])('%s is refused, even for a GET', (host) => {
    expect(statusOf({ ...get, host })).toBe(421);
    expect(statusOf({ ...post, host }, network)).toBe(421);
  });
});

describe('a POST from another site’s page', () => {
  test.each([
    ['https://evil.example', undefined],
    ['null', undefined],
    ['', undefined],
    ['http://127.0.0.1:9902', undefined],
    ['http://127.0.0.1', undefined],
    ['http://127.0.0.1:9901', 'cross-site'],
    [undefined, 'cross-site'],
    [undefined, 'same-site'],
    [undefined, 'same-origin, cross-site'],
    [undefined, ''],
  ])('origin %s, sec-fetch-site %s: refused', (origin, fetchSite) => {
    expect(statusOf({ ...post, origin, fetchSite })).toBe(403);
    expect(statusOf({ ...post, origin, fetchSite, authorization: 'Bearer right' }, network)).toBe(403);
  });

  test.each([
    [undefined, undefined],
    ['http://127.0.0.1:9901', undefined],
    ['http://127.0.0.1:9901', 'same-origin'],
    [undefined, 'none'],
  ])('origin %s, sec-fetch-site %s: served', (origin, fetchSite) => {
    expect(statusOf({ ...post, origin, fetchSite })).toBeNull();
  });

  test('that comes as a navigation, a form’s, is refused too', () => {
    expect(statusOf({ ...post, fetchSite: 'cross-site', fetchMode: 'navigate', fetchDest: 'document' })).toBe(403);
  });

  test.each(['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'post'])('%s counts as POST', (method) => {
    expect(statusOf({ ...post, method, origin: 'https://evil.example' })).toBe(403);
    expect(statusOf({ ...post, method }, network)).toBe(401);
  });
});

describe('a GET of another site’s page', () => {
  test.each([
    ['cross-site', 'no-cors', 'image'],
    ['cross-site', 'cors', 'empty'],
    ['same-site', 'cors', 'empty'],
    ['same-site', 'no-cors', 'script'],
    ['cross-site', 'navigate', 'iframe'],
    ['cross-site', 'navigate', 'object'],
    ['cross-site', 'websocket', 'empty'],
    ['cross-site', undefined, undefined],
    ['same-origin, cross-site', 'cors', 'empty'],
    ['', undefined, undefined],
  ])('ADM-31: sec-fetch-site %s, mode %s, dest %s: refused', (fetchSite, fetchMode, fetchDest) => {
    for (const method of ['GET', 'HEAD']) {
      expect(statusOf({ ...get, method, fetchSite, fetchMode, fetchDest })).toBe(403);
      expect(statusOf({ ...get, method, fetchSite, fetchMode, fetchDest }, network)).toBe(403);
    }
  });

  test.each([
    ['cross-site', 'navigate', 'document'],
    ['same-site', 'navigate', 'document'],
    ['cross-site', 'navigate', undefined],
    ['same-origin', 'cors', 'empty'],
    ['same-origin', 'no-cors', 'style'],
    ['none', 'navigate', 'document'],
    [undefined, undefined, undefined],
  ])('ADM-31: sec-fetch-site %s, mode %s, dest %s: served', (fetchSite, fetchMode, fetchDest) => {
    expect(statusOf({ ...get, fetchSite, fetchMode, fetchDest })).toBeNull();
  });
});

describe('a POST from the network', () => {
  test.each(['Bearer right', 'bearer right', 'BEARER   right'])('%s is served', (authorization) => {
    expect(statusOf({ ...post, authorization }, network)).toBeNull();
  });

  test.each([
    undefined,
    '',
    'right',
    'Bearer',
    'Bearer ',
    'Bearer wrong',
    'Bearer right ',
    'Basic right',
    'XBearer right',
  ])('%s is refused', (authorization) => {
    expect(statusOf({ ...post, authorization }, network)).toBe(401);
  });

  test('reading needs no token', () => {
    expect(statusOf(get, network)).toBeNull();
    expect(statusOf({ ...get, method: 'HEAD' }, network)).toBeNull();
  });

  test('on loopback no token is asked for', () => {
    expect(statusOf(post)).toBeNull();
  });
});

test('every refusal says in a sentence what to do', () => {
  const refused = [
    admit({ ...get, host: 'evil.example' }, loopback),
    admit({ ...post, origin: 'null' }, loopback),
    admit({ ...get, fetchSite: 'cross-site' }, loopback),
    admit(post, network),
  ];
  for (const refusal of refused) expect(refusal?.message.split(' ').length).toBeGreaterThan(5);
});
