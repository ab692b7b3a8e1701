import { describe, expect, it } from 'vitest';
import {
  writeData,
  writeGoaway,
  writePing,
  writeReset,
  writeSettings,
  writeSettingsAck,
  writeWindowUpdate,
} from '../../../../src/http2/frame/writer.js';
import { Outbox } from '../../../../src/http2/outbox.js';
import {
  ack,
  data,
  endStream,
  goaway,
  ping,
  reset,
  settings,
  settingsAck,
  windowUpdate,
} from '../../../support/frames.js';

const kinds: readonly (readonly [string, (out: Outbox) => void, Buffer])[] = [
  ['DATA', (out) => writeData(out, 0x7fff_ffff, Buffer.from('xabcx'), 1, 4, false), data(0x7fff_ffff, 'abc')],
  ['DATA with END_STREAM', (out) => writeData(out, 1, Buffer.alloc(0), 0, 0, true), data(1, '', endStream)],
  ['RST_STREAM', (out) => writeReset(out, 3, 0xffff_fffe), reset(3, 0xffff_fffe)],
  [
    'SETTINGS',
    (out) =>
      writeSettings(out, [
        [1, 0xffff_ffff],
        [0x1234, 5],
      ]),
    settings([1, 0xffff_ffff], [0x1234, 5]),
  ],
  ['SETTINGS ack', (out) => writeSettingsAck(out), settingsAck],
  ['PING', (out) => writePing(out, 0, Buffer.from('..abcdefgh'), 2), ping('abcdefgh')],
  ['PING ack', (out) => writePing(out, ack, Buffer.from('abcdefgh'), 0), ping('abcdefgh', ack)],
  ['GOAWAY', (out) => writeGoaway(out, 2 ** 31 - 1, 11, 'words'), goaway(2 ** 31 - 1, 11, 'words')],
  ['WINDOW_UPDATE', (out) => writeWindowUpdate(out, 5, 2 ** 31 - 1), windowUpdate(5, 2 ** 31 - 1)],
];

describe('the frame writer (RFC 9113 4.1, 6)', () => {
  it.each(kinds)('%s', (_name, write, bytes) => {
    const out = new Outbox();
    write(out);
    expect(Buffer.concat(out.take())).toEqual(bytes);
  });

  it.each(kinds)('%s, wherever a block ends', (_name, write, bytes) => {
    const out = new Outbox();
    const count = 400;
    for (let i = 0; i < count; i += 1) write(out);
    expect(Buffer.concat(out.take()).equals(Buffer.concat(Array.from({ length: count }, () => bytes)))).toBe(true);
  });
});
