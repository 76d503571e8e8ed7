import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../config/load.js';
import { tracingSection } from './config.js';

const schema = z.strictObject({ tracing: tracingSection() });
const load = (environment: Record<string, string>) =>
  loadConfig({ schema, file: null, environment, environmentPrefix: 'APP' });

describe('the configuration of traces', () => {
  it('has none by default', () => {
    expect(load({})).toEqual({ config: { tracing: { endpoint: null, sampleRatio: 1, headers: {} } } });
  });

  it('can come from the environment', () => {
    const environment = {
      APP_TRACING_ENDPOINT: 'https://collector.example.com/otlp',
      APP_TRACING_SAMPLE_RATIO: '0.25',
      APP_TRACING_HEADERS: '{Authorization: Bearer of-the-hub}',
    };
    expect(load(environment)).toEqual({
      config: {
        tracing: {
          endpoint: 'https://collector.example.com/otlp',
          sampleRatio: 0.25,
          headers: { Authorization: 'Bearer of-the-hub' },
        },
      },
    });
  });

  it.each([
    'collector:4318',
    'ftp://collector',
    'http://a:b@collector:4318',
    'http://collector:4318/v1/traces',
    'http://collector:4318/?a=b',
  ])('refuses %s as the collector', (endpoint) => {
    expect(load({ APP_TRACING_ENDPOINT: endpoint })).toEqual({
      faults: [expect.stringContaining('tracing.endpoint: found')],
    });
  });

  it.each(['-0.1', '1.1', 'half'])('refuses %s as the ratio', (ratio) => {
    expect(load({ APP_TRACING_SAMPLE_RATIO: ratio })).toHaveProperty('faults');
  });

  it.each(['a-secret', '{Authorization: "a-secret\\n"}', '{Authorization: [a-secret]}'])(
    'never shows the headers: %j',
    (headers) => {
      const { faults } = load({ APP_TRACING_HEADERS: headers }) as { faults: string[] };
      expect(faults).toHaveLength(1);
      expect(faults[0]).not.toContain('a-secret');
    },
  );
});
