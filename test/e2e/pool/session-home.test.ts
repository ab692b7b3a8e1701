import { expect, it } from 'vitest';
import { path, retryFor, useScene } from '../../support/scene.js';
import { answerer, idOn, pin, resourceExhausted, session, several, unavailable } from './several.js';

const scene = useScene();
const names = ['a', 'b'];
const waiting = { methodConfig: [{ ...retryFor(path, { maxAttempts: 3, initial: 1, max: 1 }), waitForReady: true }] };

it('SEN-29: a home that leaves and takes no more is not waited for, and nobody goes round in the meantime', async () => {
  const id = idOn('a', names);
  const pool = await several(scene, names, { serviceConfig: waiting });
  expect(answerer(await pool.call([session(id)]))).toBe('a');
  pool.backend('a').behave((stream) => {
    stream.sendHeaders();
  });
  const long = pool.begin([pin('a')]);
  const stream = await pool.backend('a').waitForStream(2);
  await long.whenHeaders();
  const home = pool.proxy.app.pool.backends.find(({ name }) => name === 'a');
  if (home === undefined) throw new Error('no home');
  pool.proxy.app.pool.drain(home.id);
  stream.connection.goaway(stream.id, 0);
  await pool.settled();
  const call = await pool.call([session(id)]);
  expect([call.status, call.trailer('hedgerow-stop-reason'), call.trailer('hedgerow-processed')]).toEqual([
    unavailable,
    'pinned_backend_unavailable',
    'no',
  ]);
  stream.trailers(0);
  expect((await long.done()).status).toBe(0);
});

it('SEN-30: a call that is refused in the turn that it begins in has no hold of its session', async () => {
  const pool = await several(scene, names, { flags: ['--max-message-size', '8'] });
  await pool.call([session('s')], { messages: ['x'] });
  const before = pool.streams();
  const call = await pool.call([session('s')], { messages: ['far more than eight bytes'] });
  expect([call.status, call.trailer('hedgerow-stop-reason')]).toEqual([resourceExhausted, 'message_too_large']);
  expect(pool.proxy.app.ledger().sessionCalls).toBe(0);
  expect(pool.streams()).toEqual(before);
});
