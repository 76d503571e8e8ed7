import { hostname } from 'node:os';
import { loadConfig } from '@workbench-hub/shared/config/load';
import { installationOn, platformLabels } from '@workbench-hub/shared/domain/installation';
import { describe, expect, test } from 'vitest';
import { agentConfigSchema, ENVIRONMENT_PREFIX, hubAddresses, instanceSettings } from './config.js';

/** Keys as in the file, over the environment, so that nothing is written. */
function load(keys: Record<string, unknown>) {
  const environment = Object.fromEntries(
    Object.entries(keys).map(([key, value]) => [
      `${ENVIRONMENT_PREFIX}_${key.replace(/([a-z])([A-Z])/g, '$1_$2').toUpperCase()}`,
      typeof value === 'string' ? value : JSON.stringify(value),
    ]),
  );
  return loadConfig({
    schema: agentConfigSchema,
    file: null,
    environment,
    environmentPrefix: ENVIRONMENT_PREFIX,
  });
}

function config(keys: Record<string, unknown>) {
  const loaded = load({ token: 't', ...keys });
  if ('faults' in loaded) throw new Error(loaded.faults.join('\n'));
  return loaded.config;
}

function faults(keys: Record<string, unknown>): string[] {
  const loaded = load({ token: 't', ...keys });
  return 'faults' in loaded ? [...loaded.faults] : [];
}

describe("an agent's configuration", () => {
  test('has defaults', () => {
    const defaults = config({});
    expect(defaults).toMatchObject({ id: hostname(), dataDir: './workbench-agent-data', instances: [] });
    expect(hubAddresses(defaults)).toEqual(['ws://127.0.0.1:8080']);
  });

  test('takes one hub or several', () => {
    expect(hubAddresses(config({ hub: 'wss://hub.example.org/base' }))).toEqual([
      'wss://hub.example.org/base',
    ]);
    expect(hubAddresses(config({ hub: ['ws://a:1', 'ws://b:2'] }))).toEqual(['ws://a:1', 'ws://b:2']);
    for (const hub of ['http://a', 'a:8080', 'ws://', 'ws://u@a', 'ws://a/?x', []])
      expect(faults({ hub })).toHaveLength(1);
  });

  describe('with labels of the system', () => {
    const OWN = platformLabels(installationOn(null, process));
    const of = (labels: readonly string[], rest: object = { platformLabels: true }) => ({
      ...{ instances: [{ id: 'a', version: '1', labels }], ...rest },
    });
    const labelsOf = (...given: Parameters<typeof of>) => instanceSettings(config(of(...given)))[0]?.labels;

    test('has them for all instances, each once, only if it says so', () => {
      expect(labelsOf(['gears'], {})).toEqual(['gears']);
      expect(labelsOf(['os:another'], {})).toEqual(['os:another']);
      expect(labelsOf(['gears', ...OWN.map((label) => label.toUpperCase())])).toEqual(['gears', ...OWN]);
    });

    test('refuses a label that contradicts them, and more than a message may have', () => {
      expect(faults(of(['gears', 'OS:another']))).toEqual([
        expect.stringMatching(
          /instances\[0\]\.labels\[1\]: .*with platformLabels, no label that begins with os: or arch: but os:\w+ and arch:\w+/,
        ),
      ]);
      const many = Array.from({ length: 199 }, (_, at) => `label-${at}`);
      expect(faults(of(many))).toEqual([expect.stringMatching(/at most 200 with those of platformLabels/)]);
      expect(faults(of(many.slice(1)))).toEqual([]);
    });
  });

  test('takes a sandbox by its name, or with what it is to show', () => {
    const sandboxOf = (sandbox?: unknown) =>
      instanceSettings(config({ instances: [{ id: 'a', version: '1', ...(sandbox ? { sandbox } : {}) }] }))[0]
        ?.sandbox;
    expect([sandboxOf(), sandboxOf('none'), sandboxOf({ kind: 'none', network: true })]).toEqual([
      null,
      null,
      null,
    ]);
    const closed = { network: false, gpus: false, readOnly: [] };
    expect([sandboxOf('bubblewrap'), sandboxOf({ kind: 'bubblewrap' })]).toEqual([closed, closed]);
    const open = { network: true, gpus: ['/dev/nvidia0'], readOnly: ['/opt/solver'] };
    expect(sandboxOf({ kind: 'bubblewrap', ...open })).toEqual(open);
  });

  test('takes limits of an instance', () => {
    const limitsOf = (limits?: unknown) =>
      instanceSettings(config({ instances: [{ id: 'a', version: '1', ...(limits ? { limits } : {}) }] }))[0]
        ?.limits;
    expect([limitsOf(), limitsOf({})]).toEqual([null, null]);
    expect(limitsOf({ memory: '2GiB' })).toEqual({ memoryBytes: 2 ** 31, processors: null });
    expect(limitsOf({ processors: 1.5 })).toEqual({ memoryBytes: null, processors: 1.5 });
  });

  test('lets the instances of an entry share a process, unless there is only one, a sandbox, limits, or another setting', () => {
    const entry = { version: '1', count: 2 };
    const processes = instanceSettings(
      config({
        instances: [
          { ...entry, id: 'a' },
          { ...entry, id: 'b' },
          { ...entry, id: 'c', count: 1 },
          { ...entry, id: 'd', sandbox: 'bubblewrap' },
          { ...entry, id: 'e', sharedProcess: false },
          { ...entry, id: 'f', limits: { processors: 2 } },
        ],
      }),
    ).map(({ commonProcess }) => commonProcess);
    expect(processes).toEqual(['entry 1', 'entry 1', 'entry 2', 'entry 2', ...Array(7).fill(null)]);
    expect(faults({ instances: [{ ...entry, id: 'a', sharedProcess: 'no' }] })).toHaveLength(1);
  });

  test('works out single instances', () => {
    const settings = instanceSettings(
      config({
        instances: [
          { id: 'a', version: '1' },
          { id: 'b', version: '2', count: 3, startTimeout: '1m', env: { N: 4 } },
        ],
      }),
    );
    expect(settings.map(({ id }) => id)).toEqual(['a', 'b-1', 'b-2', 'b-3']);
    expect(settings[0]).toMatchObject({
      command: ['workbench-runner', '--interpreter', 'node'],
      autostart: true,
      labels: [],
      startTimeoutMs: 30_000,
      stopTimeoutMs: 10_000,
      cancelTimeoutMs: 10_000,
    });
    expect(settings[3]).toMatchObject({ startTimeoutMs: 60_000, env: { N: '4' } });
  });

  test.each([
    [{ tokenFile: '/x' }, 'either token or tokenFile'],
    [{ tls: { cert: '/x' } }, 'tls.cert and tls.key, both or none'],
    [{ tls: { key: '/x' } }, 'tls.cert and tls.key, both or none'],
    [{ tls: { verify: false } }, 'verify'],
    [{ instances: [{ id: 'a b', version: '1' }] }, 'instances[0].id: found "a b"'],
    [{ instances: [{ id: 'a', version: 9.1 }] }, 'in quotes'],
    [
      {
        instances: [
          { id: 'a', version: '1' },
          { id: 'a', version: '1' },
        ],
      },
      'instances[1].id: found "a", allowed: an id that no other',
    ],
    [
      {
        instances: [
          { id: 'a', version: '1', count: 2 },
          { id: 'a-2', version: '1' },
        ],
      },
      'a-2 is there twice',
    ],
    [
      { instances: [{ id: 'a', version: '1', count: 0 }] },
      'instances[0].count: found 0, allowed: at least 1',
    ],
    [
      { instances: ['a', 'b', 'c'].map((id) => ({ id, version: '1', count: 1000 })) },
      'at most 2000 instances, of all entries together',
    ],
    [{ instances: [{ id: 'a', version: '1', labels: ['x,y'] }] }, 'without a comma'],
    [{ instances: [{ id: 'a', version: '1', command: [] }] }, 'a program and its arguments'],
    [{ instances: [{ id: 'a', version: '1', env: { 'A-B': 'x' } }] }, 'letters, digits and _'],
    [{ instances: [{ id: 'a', version: '1', comand: ['x'] }] }, 'instances[0].comand: unknown key'],
    [{ instances: [{ id: 'a', version: '1', sandbox: 'docker' }] }, '"none", "bubblewrap"'],
    [{ instances: [{ id: 'a', version: '1', limits: { processors: 0 } }] }, 'at least 0.1'],
    [
      { instances: [{ id: 'a', version: '1', sandbox: { kind: 'bubblewrap', gpus: ['nvidia0'] } }] },
      'such as /dev/nvidia0',
    ],
    [
      { instances: [{ id: 'a', version: '1', sandbox: { kind: 'bubblewrap', readOnly: ['solver'] } }] },
      'an absolute path',
    ],
    [{ instances: [{ id: 'a', version: '1', sandbox: { kind: 'bubblewrap', net: true } }] }, 'net'],
    [{ fileRoots: ['models'] }, 'fileRoots[0]: found "models", allowed: an absolute path'],
    [{ uncMounts: { server: '/mnt' } }, String.raw`keys such as \\server\share`],
    [{ keepWorkingDirectories: 'sometimes' }, '"never", "failed", "always"'],
    [{ id: 'a b' }, 'letters, digits and . _ : @ - only'],
  ])('%j is a fault', (keys, text) => {
    const found = faults(keys);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(text);
  });
});
