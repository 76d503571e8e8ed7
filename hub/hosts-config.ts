/** The part of the hub's configuration that says which hosts workload managers bring. */

import { absolutePath, instancesSchema } from '@workbench-hub/shared/config/instances';
import { hubAddressesSchema } from '@workbench-hub/shared/config/joining';
import { duration, section } from '@workbench-hub/shared/config/values';
import { z } from 'zod';

const NAME_ALLOWED = '1 to 40 lower-case letters, digits and hyphens, beginning with a letter';
const argument = z.string().min(1, { error: 'a text that is not empty' });
const command = z.array(argument).min(1, { error: 'a program and its arguments' });
/** The beginning of each command; none for this machine. */
const via = z.array(argument).default([]);

const MANAGER_ALLOWED = 'a group of keys with "kind": slurm, slurmrestd, grid-engine, htcondor or command';
const manager = z.discriminatedUnion(
  'kind',
  [
    z.strictObject({
      kind: z.enum(['slurm', 'grid-engine']),
      via,
      options: z.array(argument).default([]),
    }),
    z.strictObject({
      kind: z.literal('htcondor'),
      via,
      options: z
        .array(
          z.string().regex(/^[^\n=]+=[^\n]*$/, {
            error: 'a line of a submit description, such as "request_memory = 4G"',
          }),
        )
        .default([]),
    }),
    z.strictObject({
      kind: z.literal('slurmrestd'),
      via,
      url: z.url({
        protocol: /^https?$/,
        error: 'the address of slurmrestd, such as http://slurm.example.com:6820',
      }),
      user: z.string().min(1, { error: 'the user whose jobs they are' }),
      tokenFile: z.string().min(1, { error: 'a file with the token of the user' }),
      options: z.record(z.string(), z.unknown()).default({}),
    }),
    z.strictObject({
      kind: z.literal('command'),
      via,
      submit: command,
      list: command,
      cancel: command,
      check: command.nullable().default(null),
    }),
  ],
  { error: MANAGER_ALLOWED },
);

const someInstances = instancesSchema.refine((instances) => instances.length > 0, {
  error: 'at least one instance',
});

/** Instances as they are given, for the agent, and as they are understood. */
const givenInstances = z.unknown().transform((given, context) => {
  const parsed = someInstances.safeParse(given);
  if (parsed.success)
    return { given: given as readonly Readonly<Record<string, unknown>>[], parsed: parsed.data };
  for (const { path, message } of parsed.error.issues) context.addIssue({ code: 'custom', path, message });
  return z.NEVER;
});

const HOUR_MS = 3_600_000;

/** Options of a recipe by which the hub could not find its jobs again. */
const OWN_OPTIONS: Readonly<Record<string, RegExp>> = {
  slurm: /^(?:--(?:clusters|job-name|array)(?:=|$)|-[MJa])/,
  'grid-engine': /^-(?:N|t|terse|sync)$/,
};

const optionsOf = (settings: z.output<typeof manager>): readonly string[] =>
  'options' in settings && Array.isArray(settings.options) ? settings.options : [];

/** Time for which an agent stops before the end, and what a task needs to be worth a host. */
const SHORTEST_MS = 180_000;

export const hostRecipeSchema = z
  .strictObject({
    name: z.string({ error: NAME_ALLOWED }).regex(/^[a-z][a-z0-9-]{0,39}$/, { error: NAME_ALLOWED }),
    manager,
    /** Folder that the machine of the commands and the hosts share. */
    folder: absolutePath,
    /** Folder of a host for the agent's data; default: that of its environment. */
    scratch: absolutePath.nullable().default(null),
    wallTime: duration({ minMs: SHORTEST_MS }).default(4 * HOUR_MS),
    agent: z.strictObject({
      command: command.default(['workbench-agent']),
      hub: hubAddressesSchema,
      instances: givenInstances,
      /** Further keys of the agent's configuration. */
      config: z.record(z.string(), z.unknown()).default({}),
    }),
    max: section({
      allocations: z.int().min(1).max(10_000).default(10),
      queued: z.int().min(1).max(10_000).default(4),
      hostHoursPerDay: z.number().positive().nullable().default(null),
      perUser: z
        .strictObject({
          allocations: z.int().min(1).max(10_000).nullable().default(null),
          hostHoursPerDay: z.number().positive().nullable().default(null),
        })
        .optional(),
    }),
    idleTimeout: duration({ minMs: 1000 }).default(300_000),
    startTimeout: duration({ minMs: 1000 }).default(300_000),
    /** Default: a tenth of the wall time, at least two minutes and at most ten. */
    drainBefore: duration({ minMs: 1000 }).nullable().default(null),
  })
  .superRefine(({ wallTime, drainBefore, agent, max, manager }, context) => {
    if (drainBefore !== null && drainBefore >= wallTime)
      context.addIssue({ code: 'custom', path: ['drainBefore'], message: 'less than wallTime' });
    if (max.hostHoursPerDay !== null && max.hostHoursPerDay * HOUR_MS < wallTime)
      context.addIssue({
        code: 'custom',
        path: ['max', 'hostHoursPerDay'],
        message: 'at least the hours of one wallTime',
      });
    const perUser = max.perUser?.hostHoursPerDay ?? null;
    if (perUser !== null && perUser * HOUR_MS < wallTime)
      context.addIssue({
        code: 'custom',
        path: ['max', 'perUser', 'hostHoursPerDay'],
        message: 'at least the hours of one wallTime',
      });
    for (const [index, option] of optionsOf(manager).entries()) {
      if (!OWN_OPTIONS[manager.kind]?.test(option)) continue;
      const message =
        'no option that names the job, makes several of it, or sends it to another cluster: the hub finds jobs by their names';
      context.addIssue({ code: 'custom', path: ['manager', 'options', index], message });
    }
    for (const key of Object.keys(agent.config)) {
      if (!OWN_KEYS.has(key)) continue;
      const message = 'not given here: each allocation has its own, or agent.hub and agent.instances say it';
      context.addIssue({ code: 'custom', path: ['agent', 'config', key], message });
    }
  });

export type HostRecipeConfig = z.output<typeof hostRecipeSchema>;

const OWN_KEYS = new Set(['id', 'hub', 'instances', 'dataDir', 'token', 'tokenFile', 'stopAfter']);

const LEAST_DRAIN_MS = 120_000;
const MOST_DRAIN_MS = 600_000;

/** Time before its end at which an allocation begins no more tasks. */
export function drainBeforeMs({ wallTime, drainBefore }: HostRecipeConfig): number {
  return drainBefore ?? Math.min(MOST_DRAIN_MS, Math.max(LEAST_DRAIN_MS, wallTime / 10));
}

/** Reports two recipes of one name. */
export function checkHostRecipes(
  recipes: readonly HostRecipeConfig[],
  addIssue: (path: (string | number)[], message: string) => void,
): void {
  const names = recipes.map(({ name }) => name);
  for (const [index, name] of names.entries())
    if (names.indexOf(name) !== index) addIssue([index, 'name'], 'a name that no other recipe has');
}
