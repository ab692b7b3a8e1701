import { describe, expect, it } from 'vitest';
import { parseListenAddress, showAddress } from '../../../src/config/address.js';
import { parseIp } from '../../../src/config/ip.js';

describe('parseIp', () => {
  it.each([
    ['127.0.0.1', '127.0.0.1', 'loopback'],
    ['127.9.9.9', '127.9.9.9', 'loopback'],
    ['0.0.0.0', '0.0.0.0', 'any'],
    ['::', '0:0:0:0:0:0:0:0', 'any'],
    ['::1', '0:0:0:0:0:0:0:1', 'loopback'],
    ['2001:DB8::7', '2001:db8:0:0:0:0:0:7', 'other'],
    ['1:2:3:4:5:6:7:8', '1:2:3:4:5:6:7:8', 'other'],
    ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0', 'other'],
    ['::ffff:10.0.0.1', '10.0.0.1', 'other'],
    ['64:ff9b::1.2.3.4', '64:ff9b:0:0:0:0:102:304', 'other'],
    ['fe80::1%eth0', 'fe80:0:0:0:0:0:0:1%eth0', 'other'],
  ])('%s', (text, canonical, kind) => expect(parseIp(text)).toMatchObject({ canonical, class: kind }));

  it.each([
    '',
    '1.2.3',
    '1.2.3.4.5',
    '256.1.1.1',
    '01.2.3.4',
    '1.2.3.a',
    ':',
    ':::',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '1:2:3:4:5:6:7:8::',
    '12345::',
    'g::',
    '[::1]',
    '::1%',
    '::1.2.3',
    'localhost',
  ])('%j is no address', (text) => expect(parseIp(text)).toBeNull());
});

describe('parseListenAddress', () => {
  it.each([
    ['127.0.0.1:50051', { kind: 'tcp', host: '127.0.0.1', port: 50051 }],
    ['0.0.0.0:0', { kind: 'tcp', host: '0.0.0.0', port: 0 }],
    ['[::1]:65535', { kind: 'tcp', host: '::1', port: 65535 }],
    ['localhost:1', { kind: 'tcp', host: 'localhost', port: 1 }],
    ['my-host.example:1', { kind: 'tcp', host: 'my-host.example', port: 1 }],
    ['unix:/run/h.sock', { kind: 'unix', path: '/run/h.sock' }],
    ['unix:h.sock', { kind: 'unix', path: 'h.sock' }],
    ['unix:///run/h.sock', { kind: 'unix', path: '/run/h.sock' }],
  ])('%s', (text, value) => expect(parseListenAddress(text)).toEqual({ ok: true, value }));

  it.each([
    ['50051', 'write 127.0.0.1:50051'],
    [':50051', 'write 127.0.0.1:50051'],
    ['::1', 'write [::1]:PORT'],
    ['127.0.0.1', 'write HOST:PORT'],
    ['127.0.0.1:65536', 'port "65536" is not a number from 0 to 65535'],
    ['127.0.0.1:', 'port "" is not'],
    ['127.0.0.1:+1', 'port "+1" is not'],
    ['256.0.0.1:1', 'neither an IP address nor a host name'],
    ['a_b!:1', 'neither an IP address nor a host name'],
    ['[127.0.0.1]:1', 'write HOST:PORT'],
    ['unix:', 'no path'],
    ['unix://run/h.sock', 'no path'],
    [`unix:/${'x'.repeat(107)}`, 'longer than 107 bytes'],
    ['', 'write HOST:PORT'],
  ])('%j is refused', (text, problem) => {
    expect(parseListenAddress(text)).toEqual({ ok: false, problem: expect.stringContaining(problem) });
  });

  it('what is read is shown as it was written', () => {
    for (const text of ['127.0.0.1:1', '[::1]:1', 'unix:/run/h.sock']) {
      const parsed = parseListenAddress(text);
      expect(parsed.ok && showAddress(parsed.value)).toBe(text);
    }
  });
});
