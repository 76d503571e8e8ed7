/** The part of the hub's configuration that names the hubs that it joins as an agent. */
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { agentIdSchema } from '@workbench-hub/shared/agent-protocol/messages';
import { checkJoiningKeys, hubAddressesSchema, joiningKeys } from '@workbench-hub/shared/config/joining';
import { duration, section } from '@workbench-hub/shared/config/values';
import { z } from 'zod';

const NAME_ALLOWED = '1 to 40 letters, digits and hyphens';
const PREFIX_ALLOWED = '1 to 60 letters, digits and the characters . _ : @ -';
const HOURS_ALLOWED = 'times of the day such as "18:00-06:00"';
const HOURS = /^(?:([01]\d|2[0-3]):([0-5]\d))-(?:([01]\d|2[0-3]):([0-5]\d))$/;

export const upstreamSchema = z
  .strictObject({
    /** Default: the host of the first address. */
    name: z
      .string({ error: NAME_ALLOWED })
      .regex(/^[A-Za-z0-9-]{1,40}$/, { error: NAME_ALLOWED })
      .nullable()
      .default(null),
    url: hubAddressesSchema,
    /** Id under which this hub appears there, as an agent does. */
    id: agentIdSchema.prefault(() => hostname()),
    /** Beginning of the ids that lent instances have there; default: the id and a colon. */
    prefix: z
      .string({ error: PREFIX_ALLOWED })
      .regex(/^[\p{L}\p{N}._:@-]{1,60}$/u, { error: PREFIX_ALLOWED })
      .nullable()
      .default(null),
    ...joiningKeys,
    lend: section({
      /** An instance that has one of these is lent; default: any. */
      labels: z.array(z.string().min(1)).default([]),
      /** Ids, with wildcards; default: any. */
      instances: z.array(z.string().min(1)).default([]),
      /** Instances that are offered or on loan at a time; default: any number. */
      max: z.int().min(1).nullable().default(null),
      /** Time for which a task of this hub waits before a loan is taken back for it; default: until the loan ends. */
      takeBack: duration({ minMs: 1000 }).nullable().default(null),
      /** `always`: the instances take tasks of the upstream only. */
      when: z.enum(['idle', 'always'], { error: 'idle or always' }).default('idle'),
      hours: z.array(z.string({ error: HOURS_ALLOWED }).regex(HOURS, { error: HOURS_ALLOWED })).default([]),
      /** Whether recipes bring hosts for tasks of the upstream. */
      hosts: z.boolean({ error: 'true or false' }).default(true),
    }),
  })
  .superRefine(checkJoiningKeys)
  .superRefine(({ lend }, context) => {
    if (lend.when !== 'always') return;
    for (const key of ['max', 'takeBack', 'hours'] as const) {
      const isSet = key === 'hours' ? lend.hours.length > 0 : lend[key] !== null;
      const message =
        'nothing beside "when: always", with which the instances take tasks of the upstream only';
      if (isSet) context.addIssue({ code: 'custom', path: ['lend', key], message });
    }
  });

export type UpstreamConfig = z.output<typeof upstreamSchema>;

export function upstreamAddresses({ url }: UpstreamConfig): string[] {
  return typeof url === 'string' ? [url] : url;
}

/** Name by which the log, the folder of its credential and the loans in the database know the upstream. */
export function upstreamName(upstream: UpstreamConfig): string {
  return upstream.name ?? new URL(upstreamAddresses(upstream)[0] ?? '').host;
}

/** Path of the credential that `workbench-hub upstream enroll` fetches. */
export function credentialFileOf(
  { dataDir }: { readonly dataDir: string },
  upstream: UpstreamConfig,
): string {
  return resolve(dataDir, 'upstreams', upstreamName(upstream), 'credential');
}

/** Minutes of the day. */
export function hoursOf(text: string): { readonly fromMinute: number; readonly toMinute: number } {
  const [fromHour = 0, fromMinute = 0, toHour = 0, toMinute = 0] = (HOURS.exec(text) ?? [])
    .slice(1)
    .map(Number);
  return { fromMinute: fromHour * 60 + fromMinute, toMinute: toHour * 60 + toMinute };
}

/** Faults of a list of upstreams: each has a name of its own. */
export function checkUpstreams(
  upstreams: readonly UpstreamConfig[],
  addIssue: (path: (string | number)[], message: string) => void,
): void {
  const names = upstreams.map(upstreamName);
  for (const [index, name] of names.entries())
    if (names.indexOf(name) !== index) addIssue([index, 'name'], 'a name that no other upstream has');
}
