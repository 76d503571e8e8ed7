import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { loadConfig } from './load.js';
import { duration, secret, section, size } from './values.js';

const schema = z.strictObject({
  server: section({
    port: z.int().min(0).max(65535).default(8080),
    publicUrl: z.string().nullable().default(null),
  }),
  dataDir: z.string().default('./data'),
  token: secret().nullable().default(null),
  pause: duration().prefault('30s'),
  limit: size({ minBytes: 1024 }).prefault('64MiB'),
  level: z.enum(['info', 'debug']).default('info'),
  items: z.array(z.strictObject({ id: z.string(), labels: z.array(z.string()).default([]) })).default([]),
});

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'config-test-'));
});

afterEach(() => rm(directory, { recursive: true, force: true }));

async function load(yaml: string | null, environment: Record<string, string> = {}) {
  const file = join(directory, 'test.yaml');
  if (yaml !== null) await writeFile(file, yaml);
  const loaded = loadConfig({
    schema,
    file: yaml === null ? null : file,
    environment,
    environmentPrefix: 'APP',
  });
  if ('config' in loaded) return loaded;
  return { faults: loaded.faults.map((fault) => fault.replace(file, 'FILE')) };
}

describe('a configuration', () => {
  it('has the defaults without a file, and with an empty one', async () => {
    const config = {
      server: { port: 8080, publicUrl: null },
      dataDir: './data',
      token: null,
      pause: 30_000,
      limit: 64 * 1024 ** 2,
      level: 'info',
      items: [],
    };
    expect(await load(null)).toEqual({ config });
    expect(await load('# nothing yet\n')).toEqual({ config });
  });

  it('is read from YAML or JSON', async () => {
    expect(await load('server: { port: 9000 }\npause: 15m\nlimit: 4096\n')).toMatchObject({
      config: { server: { port: 9000, publicUrl: null }, pause: 900_000, limit: 4096 },
    });
    expect(await load('{"items": [{"id": "a"}]}')).toMatchObject({
      config: { items: [{ id: 'a', labels: [] }] },
    });
  });

  it('is overridden by the environment, key by key', async () => {
    expect(
      await load('server: { port: 9000 }', {
        APP_SERVER_PORT: '9001',
        APP_SERVER_PUBLIC_URL: 'https://hub.example.org',
        APP_DATA_DIR: '/data',
        APP_PAUSE: '12h',
        APP_TOKEN: '12345',
        APP_ITEMS: '[{ id: a, labels: [x] }]',
        OTHER: 'x',
      }),
    ).toMatchObject({
      config: {
        server: { port: 9001, publicUrl: 'https://hub.example.org' },
        dataDir: '/data',
        pause: 43_200_000,
        token: '12345',
        items: [{ id: 'a', labels: ['x'] }],
      },
    });
  });
});

describe('a validation error', () => {
  it('names file, key path, what was found and what is allowed, one line each', async () => {
    const { faults } = (await load(
      [
        'server: { port: 70000 }',
        'dataDir: 5',
        'level: loud',
        'pause: soon',
        'limit: 10',
        'items: [{ labels: a }]',
      ].join('\n'),
    )) as { faults: string[] };
    expect(faults).toEqual([
      'FILE: server.port: found 70000, allowed: at most 65535',
      'FILE: dataDir: found 5, allowed: a text',
      'FILE: pause: found "soon", allowed: a duration such as 500ms, 30s, 15m, 12h or 7d',
      'FILE: limit: found 10, allowed: a size such as 64MiB or 2GiB, or a number of bytes',
      'FILE: level: found "loud", allowed: "info", "debug"',
      'FILE: items[0].id: found nothing, allowed: a text',
      'FILE: items[0].labels: found "a", allowed: a list',
    ]);
  });

  it('lists the known keys beside an unknown one', async () => {
    expect(await load('server: { prot: 1 }\nitems: [{ id: a, x: 1 }]')).toEqual({
      faults: [
        'FILE: server.prot: unknown key, allowed here: port, publicUrl',
        'FILE: items[0].x: unknown key, allowed here: id, labels',
      ],
    });
  });

  it('names the environment variable', async () => {
    expect(await load(null, { APP_SERVER_PORT: 'http' })).toEqual({
      faults: ['environment variable APP_SERVER_PORT: server.port: found "http", allowed: a number'],
    });
  });

  it('never shows a secret', async () => {
    const { faults } = (await load('token: [my, secret]')) as { faults: string[] };
    expect(faults).toEqual(['FILE: token: found a value that is not shown, allowed: a text']);
  });

  it('is reported for a file that is missing, no YAML, or no mapping', async () => {
    const missing = join(directory, 'missing.yaml');
    const source = { schema, file: missing, environment: {}, environmentPrefix: 'APP' };
    expect(loadConfig(source)).toEqual({ faults: [`${missing}: there is no such file`] });
    expect(await load('a: [')).toEqual({ faults: [expect.stringMatching(/^FILE: .*line 1/)] });
    expect(await load('- a\n- b')).toEqual({ faults: ['FILE: must hold keys and values, found ["a","b"]'] });
  });
});
