import { describeIssue } from '@workbench-hub/shared/config/validation-errors';
import { describe, expect, it } from 'vitest';
import { checkHostRecipes, drainBeforeMs, hostRecipeSchema } from './hosts-config.js';

const RECIPE = {
  name: 'gears',
  manager: { kind: 'slurm' },
  folder: '/shared/hub',
  agent: { hub: 'ws://hub.example.com', instances: [{ id: 'gear', version: '9.1', startTimeout: '7s' }] },
};

const SLURMRESTD = { kind: 'slurmrestd', url: 'http://slurm.example.com:6820', user: 'u', tokenFile: 't' };

/** Faults of this recipe, as path and message. */
function faultsOf(fields: object): string[] {
  const { error } = hostRecipeSchema.safeParse({ ...RECIPE, ...fields });
  return (error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`);
}

describe('a recipe of hosts', () => {
  it('has bounds by default, and its instances both as they are given and as they are understood', () => {
    const recipe = hostRecipeSchema.parse(RECIPE);
    expect(recipe).toMatchObject({
      manager: { kind: 'slurm', via: [], options: [] },
      wallTime: 4 * 3_600_000,
      max: { allocations: 10, queued: 4, hostHoursPerDay: null },
      agent: { command: ['workbench-agent'], config: { given: {} } },
    });
    expect(recipe.agent.instances.given).toEqual(RECIPE.agent.instances);
    expect(recipe.agent.instances.parsed).toMatchObject([{ id: 'gear', count: 1, startTimeout: 7000 }]);
  });

  it('begins no more tasks a tenth of its time before its end, two minutes at least and ten at most', () => {
    const drainBefore = (fields: object) => drainBeforeMs(hostRecipeSchema.parse({ ...RECIPE, ...fields }));
    expect(drainBefore({ wallTime: '10m' })).toBe(120_000);
    expect(drainBefore({ wallTime: '50m' })).toBe(300_000);
    expect(drainBefore({ wallTime: '7d' })).toBe(600_000);
    expect(drainBefore({ wallTime: '7d', drainBefore: '1h' })).toBe(3_600_000);
  });

  it.each([
    [{ name: 'Gears' }, 'name: 1 to 40 lower-case letters, digits and hyphens'],
    [{ name: '9gears' }, 'name: 1 to 40 lower-case letters'],
    [{ folder: 'shared' }, 'folder: an absolute path'],
    [{ manager: { kind: 'pbs' } }, 'manager.kind: a group of keys with "kind": slurm, slurmrestd'],
    [
      { manager: { kind: 'command', submit: ['s'], list: [], cancel: ['c'] } },
      'manager.list: a program and its arguments',
    ],
    [
      { manager: { kind: 'slurmrestd', url: 'slurm', user: 'u', tokenFile: 't' } },
      'manager.url: the address of slurmrestd',
    ],
    [
      { manager: { kind: 'htcondor', options: ['hold = true\nqueue 5'] } },
      'manager.options.0: a line of a submit description',
    ],
    [
      { manager: { kind: 'slurm', options: ['-p', 'long', '--job-name=gears'] } },
      'manager.options.2: no option that names the job',
    ],
    [
      { manager: { kind: 'slurm', options: ['--time=60'] } },
      'manager.options.0: no option that sets the time',
    ],
    [
      { manager: { kind: 'slurm', options: ['-t', '60'] } },
      'manager.options.0: no option that sets the time',
    ],
    [
      { manager: { kind: 'slurm', options: ['--time-min=60'] } },
      'manager.options.0: no option that sets the time of the job: that is wallTime',
    ],
    [
      { manager: { kind: 'grid-engine', options: ['-l', 'h_vmem=4G,h_rt=600'] } },
      'manager.options.1: no option that sets the time',
    ],
    [
      { manager: { ...SLURMRESTD, options: { name: 'gears' } } },
      'manager.options.name: no option that names',
    ],
    [
      { manager: { ...SLURMRESTD, options: { time_minimum: 10 } } },
      'manager.options.time_minimum: no option that sets the time',
    ],
    [{ wallTime: '1m' }, 'wallTime: a duration such as'],
    [{ wallTime: '1h', drainBefore: '1h' }, 'drainBefore: less than wallTime'],
    [
      { wallTime: '2h', max: { hostHoursPerDay: 1 } },
      'max.hostHoursPerDay: at least the hours of one wallTime',
    ],
    [{ max: { allocations: 0 } }, 'max.allocations: '],
    [{ agent: { ...RECIPE.agent, instances: [] } }, 'agent.instances: at least one instance'],
    [{ agent: { hub: 'ws://h' } }, 'agent.instances: at least one instance'],
    [{ agent: { ...RECIPE.agent, instances: [{ id: 'a' }] } }, 'agent.instances.0.version: '],
    [
      { agent: { ...RECIPE.agent, instances: [{ id: 'a', version: '1', cuont: 2 }] } },
      'agent.instances.0.cuont: a key that is known here: id, version,',
    ],
    [{ agent: { ...RECIPE.agent, config: { token: 'x' } } }, 'agent.config.token: not given here'],
    [
      { agent: { ...RECIPE.agent, config: { fileRoot: ['/data'] } } },
      'agent.config.fileRoot: a key that is known here: tls, fileRoots, drainTimeout,',
    ],
    [
      { agent: { ...RECIPE.agent, config: { log: { levle: 'info' } } } },
      'agent.config.log.levle: a key that is known here: level,',
    ],
    [
      { agent: { ...RECIPE.agent, config: { fileRoots: ['data'] } } },
      'agent.config.fileRoots.0: an absolute path',
    ],
    [
      { agent: { ...RECIPE.agent, config: { tls: { cert: 'c' } } } },
      'agent.config.tls.cert: tls.cert and tls.key',
    ],
    [{ agent: { ...RECIPE.agent, config: ['x'] } }, 'agent.config: '],
    [
      { agent: { ...RECIPE.agent, config: { drainTimeout: '60s' } } },
      'agent.config.drainTimeout: less than 60s, with drainTimeout and cancelTimeout together',
    ],
    [
      { agent: { ...RECIPE.agent, config: { drainTimeout: '50s' } } },
      'agent.instances.0.cancelTimeout: less than 60s',
    ],
    [
      { agent: { ...RECIPE.agent, instances: [{ id: 'g'.repeat(182), version: '9.1' }] } },
      'agent.instances.0.id: an id of at most 181 characters with its number: the name of the allocation comes before it',
    ],
  ])('with %j is refused', (fields, fault) => {
    expect(faultsOf(fields)).toContainEqual(expect.stringContaining(fault));
  });

  it('has faults that show no secret of its agent', () => {
    const config = { token: 'do-not-tell', tracing: { headers: { key: ' do-not-tell ' } }, fileRoots: ['x'] };
    const recipe = { ...RECIPE, agent: { ...RECIPE.agent, config } };
    const issues = hostRecipeSchema.safeParse(recipe).error?.issues ?? [];
    const texts = issues.flatMap((issue) =>
      describeIssue(issue, recipe, hostRecipeSchema).map(({ text }) => text),
    );
    expect(texts.sort()).toEqual([
      expect.stringContaining('agent.config.fileRoots[0]: found "x", allowed: an absolute path'),
      expect.stringContaining('agent.config.token: found a value that is not shown'),
      expect.stringContaining('agent.config.tracing.headers.key: found a value that is not shown'),
    ]);
  });

  it('gives its further keys to the agent as they are', () => {
    const config = {
      fileRoots: ['/data'],
      drainTimeout: '20s',
      limits: { taskLog: '1MiB' },
      platformLabels: true,
    };
    const instances = [{ id: 'g'.repeat(179), version: '9.1', count: 9, labels: ['os:other'] }];
    const recipe = hostRecipeSchema.parse({ ...RECIPE, agent: { ...RECIPE.agent, config, instances } });
    expect(recipe.agent.config).toMatchObject({ given: config, parsed: { drainTimeout: 20_000 } });
  });

  it('has a name of its own', () => {
    const recipes = [RECIPE, { ...RECIPE, name: 'belts' }, RECIPE].map((each) =>
      hostRecipeSchema.parse(each),
    );
    const issues: string[] = [];
    checkHostRecipes(recipes, (path, message) => issues.push(`${path.join('.')}: ${message}`));
    expect(issues).toEqual(['2.name: a name that no other recipe has']);
  });
});
