/** Configuration of workbench instances: the same keys in an agent and in a hub that holds instances of its own. */
import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { instanceIdSchema, MAX_INSTANCES } from '../agent-protocol/messages.js';
import { duration, size } from './values.js';

/** As the protocol has it for every id. */
export const MAX_ID_LENGTH = 200;

const ABSOLUTE_ALLOWED = 'an absolute path';
export const absolutePath = z
  .string({ error: ABSOLUTE_ALLOWED })
  .refine(isAbsolute, { error: ABSOLUTE_ALLOWED });

const VERSION_ALLOWED = 'a text of 1 to 200 characters, in quotes: "9.1.0"';
/** As the protocol has it for every instance. */
export const MAX_LABELS = 200;

const LABEL_ALLOWED = 'a text of 1 to 200 characters without a comma';
const label = z
  .string({ error: LABEL_ALLOWED })
  .refine((text) => text.trim() === text && text !== '' && text.length <= 200 && !text.includes(','), {
    error: LABEL_ALLOWED,
  });

const ENV_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const env = z
  .record(z.string(), z.union([z.string(), z.number(), z.boolean()], { error: 'a text' }).transform(String))
  .superRefine((variables, context) => {
    for (const key of Object.keys(variables)) {
      if (!ENV_NAME.test(key)) {
        context.addIssue({ code: 'custom', path: [key], message: 'a name of letters, digits and _' });
      }
    }
  });

const SANDBOX_ALLOWED = '"none", "bubblewrap", or a group of keys with "kind"';
const DEVICE_ALLOWED = 'true, false, or a list of devices such as /dev/nvidia0';
const device = z.string({ error: DEVICE_ALLOWED }).regex(/^\/dev\/[^/].*$/, { error: DEVICE_ALLOWED });
const sandboxKind = z.enum(['none', 'bubblewrap'], { error: '"none" or "bubblewrap"' });
const sandbox = z.union(
  [
    sandboxKind,
    z.strictObject({
      kind: sandboxKind,
      network: z.boolean().default(false),
      gpus: z.union([z.boolean(), z.array(device)], { error: DEVICE_ALLOWED }).default(false),
      readOnly: z.array(absolutePath).default([]),
    }),
  ],
  { error: SANDBOX_ALLOWED },
);

const PROCESSORS_ALLOWED = 'a number of processors of at least 0.1';
const limits = z.strictObject({
  memory: size({ minBytes: 2 ** 20 })
    .nullable()
    .default(null),
  processors: z
    .number({ error: PROCESSORS_ALLOWED })
    .min(0.1, { error: PROCESSORS_ALLOWED })
    .nullable()
    .default(null),
});

const instance = z.strictObject({
  id: instanceIdSchema,
  version: z
    .string({ error: VERSION_ALLOWED })
    .min(1, { error: VERSION_ALLOWED })
    .max(200, { error: VERSION_ALLOWED }),
  revision: z.string({ error: 'a text, in quotes: "4711"' }).max(200).default(''),
  labels: z.array(label).max(MAX_LABELS).default([]),
  count: z.int().min(1).max(1000).default(1),
  autostart: z.boolean().default(true),
  command: z
    .array(z.string().min(1, { error: 'a text that is not empty' }))
    .min(1, { error: 'a program and its arguments' })
    .default(['workbench-runner', '--interpreter', 'node']),
  env: env.default({}),
  sandbox: sandbox.default('none'),
  limits: limits.prefault({}),
  sharedProcess: z.boolean().default(true),
  startTimeout: duration().prefault('30s'),
  stopTimeout: duration().prefault('10s'),
  cancelTimeout: duration().prefault('10s'),
});
export type ConfiguredInstance = z.output<typeof instance>;

/** List of instances without two of the same id. */
export const instancesSchema = z
  .array(instance)
  .superRefine((instances, context) => {
    const seen = new Set<string>();
    for (const [index, configured] of instances.entries()) {
      for (const id of expandedIds(configured)) {
        const path = [index, 'id'];
        if (seen.has(id)) {
          context.addIssue({
            code: 'custom',
            path,
            message: `an id that no other instance has (${id} is there twice)`,
          });
        }
        if (id.length > MAX_ID_LENGTH && configured.id.length <= MAX_ID_LENGTH) {
          context.addIssue({
            code: 'custom',
            path,
            message: `an id of at most ${MAX_ID_LENGTH} characters with its number`,
          });
        }
        seen.add(id);
      }
    }
    if (seen.size > MAX_INSTANCES) {
      context.addIssue({
        code: 'custom',
        message: `at most ${MAX_INSTANCES} instances, of all entries together`,
      });
    }
  })
  .default([]);

/** Ids of an entry: `sim-1`, or with a count `sim-1-1`, `sim-1-2` and so on. */
export function expandedIds({ id, count }: Pick<ConfiguredInstance, 'id' | 'count'>): string[] {
  return count === 1 ? [id] : Array.from({ length: count }, (_, index) => `${id}-${index + 1}`);
}
