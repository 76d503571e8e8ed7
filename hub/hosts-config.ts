/** The part of the hub's configuration that says which hosts workload managers bring. */

import { agentKeysSchema, checkAgentKeys } from '@workbench-hub/shared/agent-config/agent-config';
import {
  absolutePath,
  type ConfiguredInstance,
  expandedIds,
  instancesSchema,
  MAX_ID_LENGTH,
} from '@workbench-hub/shared/config/instances';
import { hubAddressesSchema } from '@workbench-hub/shared/config/joining';
import { ASKED, issuesForAnother } from '@workbench-hub/shared/config/validation-errors';
import { duration, section } from '@workbench-hub/shared/config/values';
import { z } from 'zod';
import { STOP_BEFORE_MS } from './core/hosts/host-end.js';
import { hostToCome } from './core/hosts/host-recipe.js';

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
  for (const issue of issuesForAnother(parsed.error.issues, someInstances))
    context.addIssue({ code: 'custom', ...issue });
  return z.NEVER;
});

/** Keys of an agent that its allocation has for itself, or that `agent.hub` and `agent.instances` say. */
const OWN_KEYS = {
  id: true,
  hub: true,
  instances: true,
  dataDir: true,
  token: true,
  tokenFile: true,
  stopAfter: true,
} as const;
const OWN_KEY_MESSAGE =
  'not given here: each allocation has its own, or agent.hub and agent.instances say it';

const furtherKeys = agentKeysSchema
  .omit(OWN_KEYS)
  .superRefine((config, context) => checkAgentKeys({ ...config, token: null, tokenFile: null }, context));

/** Further keys of the agent's configuration as they are given, for the agent, and as they are understood. */
const givenKeys = z
  .record(z.string(), z.unknown())
  .transform((given, context) => {
    const parsed = furtherKeys.safeParse(given);
    if (parsed.success) return { given, parsed: parsed.data };
    for (const { path, message } of issuesForAnother(parsed.error.issues, furtherKeys)) {
      const isOwn = path.length === 1 && String(path[0]) in OWN_KEYS;
      context.addIssue({ code: 'custom', path, message: isOwn ? OWN_KEY_MESSAGE : message });
    }
    return z.NEVER;
  })
  .meta({ [ASKED]: agentKeysSchema })
  .prefault({});

const HOUR_MS = 3_600_000;

/** Options that a recipe must not give: with some, the hub would not find its jobs again; with others, a host would get another time than `wallTime`, and
 *  hosts would come for tasks for which they have too little. HTCondor takes the last of several lines, which is the driver's. */
const OWN_OPTIONS: Readonly<Record<string, Readonly<Record<'job' | 'time', RegExp>>>> = {
  slurm: { job: /^(?:--(?:clusters|job-name|array)(?:=|$)|-[MJa])/, time: /^(?:--ti|-t)/ },
  'grid-engine': { job: /^-(?:N|t|terse|sync)$/, time: /(?:^|,)[hs]_rt(?:=|$)/ },
  slurmrestd: { job: /^(?:name|array)$/, time: /^time_(?:limit|minimum)$/ },
};

const OWN_OPTION_MESSAGES = {
  job: 'no option that names the job, makes several of it, or sends it to another cluster: the hub finds jobs by their names',
  time: 'no option that sets the time of the job: that is wallTime',
} as const;

/** Options as they are given, by their places. */
function optionsOf(settings: z.output<typeof manager>): [place: string | number, option: string][] {
  if (!('options' in settings)) return [];
  if (!Array.isArray(settings.options)) return Object.keys(settings.options).map((key) => [key, key]);
  return [...settings.options.entries()];
}

/** Reports options that are the driver's to give. */
function checkOptions(settings: z.output<typeof manager>, context: Pick<z.RefinementCtx, 'addIssue'>): void {
  const own = OWN_OPTIONS[settings.kind];
  if (!own) return;
  for (const [place, option] of optionsOf(settings))
    for (const subject of ['job', 'time'] as const)
      if (own[subject].test(option)) {
        const message = OWN_OPTION_MESSAGES[subject];
        context.addIssue({ code: 'custom', path: ['manager', 'options', place], message });
      }
}

/** Time for which an agent stops before the end, and what a task needs to be worth a host. */
const SHORTEST_MS = 180_000;

/** Reports ids that are too long with the names of allocations, and times for which the agent cannot wait at its end. */
function checkAgentOfRecipe(
  recipe: string,
  agent: {
    readonly instances: { readonly parsed: readonly ConfiguredInstance[] };
    readonly config: { readonly parsed: { readonly drainTimeout: number } };
  },
  context: Pick<z.RefinementCtx, 'addIssue'>,
): void {
  const room = MAX_ID_LENGTH - hostToCome(recipe).length - 1;
  const { drainTimeout } = agent.config.parsed;
  for (const [index, instance] of agent.instances.parsed.entries()) {
    const path = ['agent', 'instances', index];
    if (expandedIds(instance).some((id) => id.length > room)) {
      const message = `an id of at most ${room} characters with its number: the name of the allocation comes before it`;
      context.addIssue({ code: 'custom', path: [...path, 'id'], message });
    }
    if (drainTimeout + instance.cancelTimeout < STOP_BEFORE_MS) continue;
    const key =
      drainTimeout >= STOP_BEFORE_MS ? ['agent', 'config', 'drainTimeout'] : [...path, 'cancelTimeout'];
    const message =
      'less than 60s, with drainTimeout and cancelTimeout together: the agent stops a minute before the end of its host';
    context.addIssue({ code: 'custom', path: key, message });
    if (drainTimeout >= STOP_BEFORE_MS) return;
  }
}

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
      config: givenKeys,
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
  .superRefine(({ name, wallTime, drainBefore, agent, max, manager }, context) => {
    checkAgentOfRecipe(name, agent, context);
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
    checkOptions(manager, context);
  });

export type HostRecipeConfig = z.output<typeof hostRecipeSchema>;

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
