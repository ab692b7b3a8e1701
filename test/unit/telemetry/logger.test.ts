import { PinoPretty } from 'pino-pretty';
import { expect, test } from 'vitest';
import { createLoggers, type LogLevel, logReady } from '../../../src/telemetry/logger.js';
import { Lines, lineLogger, StoppedLines } from './lines.js';

const levels: readonly LogLevel[] = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'];
const facts = {
  listen: ['127.0.0.1:50051', 'unix:/tmp/x'],
  admin: '127.0.0.1:9901',
  control: null,
  backends: 3,
  config: { path: './service-config.json', version: 'abc', methods: 2 },
};

test.each(levels)('the ready line is written at level %s, as one line of level info with the facts', (level) => {
  const lines = new Lines();
  logReady(lineLogger({ level, pretty: null, destination: lines }), facts);
  const [line, ...more] = lines.objects;
  expect(more).toEqual([]);
  expect(line).toEqual({ level: 30, time: expect.any(Number), ...facts, msg: 'ready' });
});

test.each(levels)('at level %s exactly the lines of that level and above are written', (level) => {
  const lines = new Lines();
  const logger = lineLogger({ level, pretty: null, destination: lines });
  for (const at of ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const) logger[at](at);
  expect(lines.objects.map(({ msg }) => msg)).toEqual(levels.slice(levels.indexOf(level), -1));
});

test('the ready line leaves the level of later lines as it was', () => {
  const lines = new Lines();
  const logger = lineLogger({ level: 'error', pretty: null, destination: lines });
  logReady(logger, facts);
  logger.info('unwanted');
  expect(lines.objects).toHaveLength(1);
});

test('a line carries neither the host name nor the process', () => {
  const lines = new Lines();
  lineLogger({ level: 'info', pretty: null, destination: lines }).info('x');
  expect(Object.keys(lines.objects[0] ?? {})).toEqual(['level', 'time', 'msg']);
});

test('pretty lines are for people: no JSON around them, no colour where there is no terminal', async () => {
  const lines = new Lines();
  const logger = lineLogger({ level: 'info', pretty: PinoPretty, destination: lines });
  const written = new Promise<void>((resolve) => {
    const write = lines._write.bind(lines);
    lines._write = (chunk, encoding, done) => {
      write(chunk, encoding, done);
      resolve();
    };
  });
  logger.info({ backend: 'b1' }, 'connected');
  await written;
  expect(lines.text).toMatch(/^\[[\d:.]+\] INFO: connected\n {4}backend: "b1"\n$/);
});

const mib = 1024 * 1024;
const wide = 'w'.repeat(1000);

test('nobody reads: lines of calls wait up to 4 MiB, others up to 16 MiB, the rest is counted and told when it goes on', async () => {
  const lines = new StoppedLines();
  const dropped = { call: 0, other: 0 };
  const { logger, calls } = createLoggers({
    level: 'info',
    pretty: null,
    destination: lines,
    onDropped: (kind) => {
      dropped[kind] += 1;
    },
  });
  for (let i = 0; i < 10_000; i += 1) calls.info({ wide }, 'call');
  const length = lines.writableLength;
  expect([length > 4 * mib, length < 4 * mib + 2000]).toEqual([true, true]);
  logger.warn('something else');
  expect(lines.writableLength).toBeGreaterThan(length);
  for (let i = 0; i < 20_000; i += 1) logger.warn({ wide }, 'something else');
  expect([lines.writableLength > 16 * mib, lines.writableLength < 16 * mib + 2000]).toEqual([true, true]);
  calls.info('call');

  await lines.goOn();
  const written = lines.objects;
  const last = written.at(-1);
  const count = (msg: string) => written.filter((line) => line['msg'] === msg).length;
  expect([count('call') + dropped.call, count('something else') + dropped.other]).toEqual([10_001, 20_001]);
  expect(last).toEqual({
    level: 40,
    time: expect.any(Number),
    event: 'log_lines_dropped',
    dropped,
    msg: `${dropped.call} lines of calls and ${dropped.other} other lines were not written: the log's reader was too slow`,
  });
  calls.info('call');
  logger.info('something else');
  expect(lines.objects.slice(written.length).map(({ msg }) => msg)).toEqual(['call', 'something else']);
});

test('pretty lines that nobody reads are bounded too', async () => {
  const lines = new StoppedLines();
  let dropped = 0;
  const { calls } = createLoggers({
    level: 'info',
    pretty: PinoPretty,
    destination: lines,
    onDropped: () => {
      dropped += 1;
    },
  });
  for (let i = 0; i < 10_000; i += 1) calls.info({ wide }, 'call');
  // What waits is measured before it is made pretty.
  expect(dropped).toBeGreaterThan(5000);
  const told = `${dropped} lines of calls were not written: the log's reader was too slow`;
  const written = new Promise<void>((resolve) => {
    const write = lines._write.bind(lines);
    lines._write = (chunk, encoding, done) => {
      write(chunk, encoding, done);
      if (chunk.includes(told)) resolve();
    };
  });
  void lines.goOn();
  await written;
});
