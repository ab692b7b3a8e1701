import { expect, test } from 'vitest';
import { createLogger, type LogLevel, logReady } from '../../../src/telemetry/logger.js';
import { Lines } from './lines.js';

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
  logReady(createLogger({ level, format: 'json', destination: lines }), facts);
  const [line, ...more] = lines.objects;
  expect(more).toEqual([]);
  expect(line).toEqual({ level: 30, time: expect.any(Number), ...facts, msg: 'ready' });
});

test.each(levels)('at level %s exactly the lines of that level and above are written', (level) => {
  const lines = new Lines();
  const logger = createLogger({ level, format: 'json', destination: lines });
  for (const at of ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const) logger[at](at);
  expect(lines.objects.map(({ msg }) => msg)).toEqual(levels.slice(levels.indexOf(level), -1));
});

test('the ready line leaves the level of later lines as it was', () => {
  const lines = new Lines();
  const logger = createLogger({ level: 'error', format: 'json', destination: lines });
  logReady(logger, facts);
  logger.info('unwanted');
  expect(lines.objects).toHaveLength(1);
});

test('a line carries neither the host name nor the process', () => {
  const lines = new Lines();
  createLogger({ level: 'info', format: 'json', destination: lines }).info('x');
  expect(Object.keys(lines.objects[0] ?? {})).toEqual(['level', 'time', 'msg']);
});

test('pretty lines are for people: no JSON around them, no colour where there is no terminal', async () => {
  const lines = new Lines();
  const logger = createLogger({ level: 'info', format: 'pretty', destination: lines });
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
