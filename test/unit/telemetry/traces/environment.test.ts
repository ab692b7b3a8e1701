import { describe, expect, it } from 'vitest';
import { readTraceEnvironment } from '../../../../src/telemetry/traces/environment.js';

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };

describe('whether there are traces', () => {
  it.each([
    ['an endpoint', endpoint],
    ['an endpoint for traces alone', { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector/x' }],
    ['an exporter', { OTEL_TRACES_EXPORTER: 'otlp' }],
    ['an empty exporter beside an endpoint', { ...endpoint, OTEL_TRACES_EXPORTER: '' }],
    ['the SDK that is not disabled', { ...endpoint, OTEL_SDK_DISABLED: 'false' }],
    ['the protocol that there is', { ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf' }],
    [
      'another protocol, but not for traces',
      { ...endpoint, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/protobuf' },
    ],
  ])('is so with %s', (_, env) => {
    expect(readTraceEnvironment(env)).toMatchObject({ on: true, warnings: [] });
  });

  it.each([
    ['nothing', {}],
    ['an empty endpoint', { OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }],
    ['an endpoint for metrics', { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://collector' }],
    ['the SDK disabled', { ...endpoint, OTEL_TRACES_EXPORTER: 'zipkin', OTEL_SDK_DISABLED: 'TRUE' }],
    ['the exporter none', { ...endpoint, OTEL_TRACES_EXPORTER: 'none' }],
  ])('is not, without a word, with %s', (_, env) => {
    expect(readTraceEnvironment(env)).toMatchObject({ on: false, warnings: [] });
  });

  it.each([
    ['console', false, 'OTEL_TRACES_EXPORTER is "console": otlp and none are known, there are no traces'],
    ['otlp,console', true, 'OTEL_TRACES_EXPORTER is "otlp,console": otlp and none are known, only otlp has an effect'],
  ])('is told where the exporter is %s', (name, on, warning) => {
    expect(readTraceEnvironment({ ...endpoint, OTEL_TRACES_EXPORTER: name })).toMatchObject({
      on,
      warnings: [warning],
    });
  });

  it.each(['OTEL_EXPORTER_OTLP_PROTOCOL', 'OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'])(
    'is not where %s names what there is not, and a warning cuts a long one',
    (key) => {
      const warning = `${key} is ${JSON.stringify(`${'x'.repeat(64)}…`)}: traces are sent as http/protobuf alone, so there are none`;
      expect(readTraceEnvironment({ ...endpoint, [key]: 'x'.repeat(100) })).toMatchObject({
        on: false,
        warnings: [warning],
      });
    },
  );
});

describe('where they are sent to, for people', () => {
  it.each([
    [{}, 'http://localhost:4318/v1/traces'],
    [endpoint, 'http://collector:4318/v1/traces'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'https://user:secret@c/base/?key=secret' }, 'https://c/base/'],
    [{ ...endpoint, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://other/own?key=secret' }, 'https://other/own'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'nonsense' }, 'http://localhost:4318/v1/traces'],
  ])('is, of %o, %s', (env, url) => {
    expect(readTraceEnvironment(env).endpoint).toBe(url);
  });
});
