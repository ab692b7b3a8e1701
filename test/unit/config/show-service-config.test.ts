import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parseServiceConfig, type ServiceConfig } from '../../../src/config/service-config.js';
import { showServiceConfig } from '../../../src/config/show-service-config.js';

function parse(text: string): ServiceConfig {
  const { config, findings } = parseServiceConfig(text, { maxAttemptsLimit: 5 });
  if (config === null) throw new Error(JSON.stringify(findings));
  return config;
}

const whole = {
  methodConfig: [
    {
      name: [{ service: 'a.B', method: 'C' }, { service: 'a.D' }],
      timeout: '1.500000001s',
      waitForReady: true,
      maxRequestMessageBytes: 0,
      maxResponseMessageBytes: 9,
      retryPolicy: {
        maxAttempts: 9,
        initialBackoff: '0.05s',
        maxBackoff: '2s',
        backoffMultiplier: 1.5,
        retryableStatusCodes: ['RESOURCE_EXHAUSTED', 'UNAVAILABLE'],
      },
    },
    { name: [{}], hedgingPolicy: { maxAttempts: 3, hedgingDelay: '0s', nonFatalStatusCodes: ['UNAVAILABLE'] } },
    { name: [] },
  ],
  retryThrottling: { maxTokens: 10, tokenRatio: 0.125 },
  loadBalancingConfig: [{ least_request_experimental: { choiceCount: 4 } }],
};

it('ADM-22: a config in its own spelling is shown as it stands', () => {
  expect(showServiceConfig(parse(JSON.stringify(whole)))).toEqual(whole);
});

it.each([
  ['{}'],
  [readFileSync(new URL('../../../service-config.json', import.meta.url), 'utf8')],
  ['{"loadBalancingPolicy": "PICK_FIRST"}'],
  ['{"loadBalancingConfig": [{"pick_first": {"shuffleAddressList": true}}]}'],
  ['{"loadBalancingConfig": [{"round_robin": {}}], "healthCheckConfig": {"serviceName": "x"}}'],
  ['{"methodConfig": [{"name": [{"service": "a.B", "method": ""}], "timeout": "0.1s", "waitForReady": false}]}'],
  [
    '{"methodConfig": [{"name": [{"service": "a"}], "hedgingPolicy": {"maxAttempts": 4}}], "retryThrottling": {"maxTokens": 3, "tokenRatio": 0.57}}',
  ],
  [
    '{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 2, "initialBackoff": "0.000000001s", "maxBackoff": "315576000000s", "backoffMultiplier": 0.1, "retryableStatusCodes": [14, "unavailable", 1]}}]}',
  ],
])('ADM-22: what is shown of %s is the same config when it is read', (text) => {
  const config = parse(text);
  expect(parse(JSON.stringify(showServiceConfig(config)))).toEqual(config);
});
