import { expect, it } from 'vitest';
import { parseServiceConfig } from '../../../src/config/service-config.js';
import { behave } from '../../support/raw-peer.js';
import { path, useScene } from '../../support/scene.js';

const scene = useScene();

it('BAL-34: a loadBalancingConfig that changes governs the calls after it, on connections that there are too', async () => {
  const a = await scene.backend({ name: 'a', onStream: behave.ok('a') });
  const b = await scene.backend({ name: 'b', onStream: behave.ok('b') });
  const proxy = await scene.proxy({ backends: { a: a.port, b: b.port } });
  const client = await scene.client(proxy);
  const four = async (): Promise<string> => {
    const answers = [];
    for (let n = 0; n < 4; n += 1) answers.push((await client.call(path).done()).trailer('hedgerow-backend'));
    return answers.join('');
  };
  expect(await four()).toBe('abab');
  const { config } = parseServiceConfig('{"loadBalancingConfig": [{"pick_first": {}}]}', { maxAttemptsLimit: 5 });
  if (config === null) throw new Error('the config is not valid');
  proxy.app.configure(config);
  expect(await four()).toBe('aaaa');
});
