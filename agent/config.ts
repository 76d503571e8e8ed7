/** The agent's configuration (contract 13.2). */
import { hostname } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { agentIdSchema, instanceIdSchema } from '@workbench-hub/shared/agent-protocol/messages';
import { duration, secret, section, size } from '@workbench-hub/shared/config/values';
import { LOG_LEVELS } from '@workbench-hub/shared/runtime/logger';
import { tracingSection } from '@workbench-hub/shared/tracing/config';
import { z } from 'zod';
import type { SandboxSettings } from './core/sandbox.js';
import { KEEP_POLICIES } from './engine/jobs/batch-job.js';
import type { InstanceSettings } from './engine/supervisor.js';

/** Limit of the protocol for ids. */
const MAX_ID_LENGTH = 200;

export const ENVIRONMENT_PREFIX = 'WORKBENCH_AGENT';

const ADDRESS_ALLOWED = 'the address of a hub, such as ws://127.0.0.1:8080 or wss://hub.example.org';
const address = z.string({ error: ADDRESS_ALLOWED }).refine(isHubAddress, { error: ADDRESS_ALLOWED });

const ABSOLUTE_ALLOWED = 'an absolute path';
const absolutePath = z.string({ error: ABSOLUTE_ALLOWED }).refine(isAbsolute, { error: ABSOLUTE_ALLOWED });

const VERSION_ALLOWED = 'a text of 1 to 200 characters, in quotes: "9.1.0"';
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

const instance = z.strictObject({
  id: instanceIdSchema,
  version: z
    .string({ error: VERSION_ALLOWED })
    .min(1, { error: VERSION_ALLOWED })
    .max(200, { error: VERSION_ALLOWED }),
  revision: z.string({ error: 'a text, in quotes: "4711"' }).max(200).default(''),
  labels: z.array(label).max(200).default([]),
  count: z.int().min(1).max(1000).default(1),
  autostart: z.boolean().default(true),
  command: z
    .array(z.string().min(1, { error: 'a text that is not empty' }))
    .min(1, { error: 'a program and its arguments' })
    .default(['workbench-runner', '--interpreter', 'node']),
  env: env.default({}),
  sandbox: sandbox.default('none'),
  startTimeout: duration().prefault('30s'),
  stopTimeout: duration().prefault('10s'),
  cancelTimeout: duration().prefault('10s'),
});
type ConfiguredInstance = z.output<typeof instance>;

export const agentConfigSchema = z
  .strictObject({
    id: agentIdSchema.prefault(() => hostname()),
    hub: z
      .union([address, z.array(address).min(1)], { error: `${ADDRESS_ALLOWED}, or a list of them` })
      .prefault('ws://127.0.0.1:8080'),
    token: secret()
      .regex(/^[\x21-\x7e]+$/, { error: 'visible ASCII characters only' })
      .nullable()
      .default(null),
    tokenFile: z.string().min(1).nullable().default(null),
    tls: section({
      /** PEM file of the authorities that may sign the hub's certificate. Null: those that Node.js trusts. */
      ca: z.string().min(1).nullable().default(null),
      /** Certificate that this agent presents if the hub asks for one. */
      cert: z.string().min(1).nullable().default(null),
      key: z.string().min(1).nullable().default(null),
    }),
    dataDir: z.string().min(1).default('./workbench-agent-data'),
    fileRoots: z.array(absolutePath).default([]),
    drainTimeout: duration({ minMs: 0 }).prefault('0s'),
    keepWorkingDirectories: z.enum(KEEP_POLICIES).default('never'),
    uncMounts: z.record(z.string(), absolutePath).default({}),
    instances: z.array(instance).default([]),
    limits: section({
      taskLog: size().prefault('16MiB'),
      fileCache: size({ minBytes: 0 }).prefault('20GiB'),
      taskOutputs: size().prefault('32GiB'),
      outputFile: size().prefault('16GiB'),
      outputFiles: z.int().min(1).default(20_000),
    }),
    tracing: tracingSection(),
    log: section({
      level: z.enum(LOG_LEVELS).default('info'),
      file: z.string().min(1).nullable().default(null),
    }),
  })
  .superRefine((config, context) => {
    if (config.token !== null && config.tokenFile !== null) {
      context.addIssue({
        code: 'custom',
        path: ['tokenFile'],
        message: 'either token or tokenFile, not both',
      });
    }
    const lone = config.tls.key === null ? 'cert' : 'key';
    if ((config.tls.cert === null) !== (config.tls.key === null)) {
      context.addIssue({
        code: 'custom',
        path: ['tls', lone],
        message: 'tls.cert and tls.key, both or none',
      });
    }
    for (const unc of Object.keys(config.uncMounts)) {
      if (!/^\\\\[^\\/]+\\[^\\/]+/.test(unc)) {
        context.addIssue({
          code: 'custom',
          path: ['uncMounts', unc],
          message: String.raw`keys such as \\server\share`,
        });
      }
    }
    const seen = new Set<string>();
    for (const [index, configured] of config.instances.entries()) {
      for (const id of expandedIds(configured)) {
        const path = ['instances', index, 'id'];
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
  });

export type AgentConfig = z.output<typeof agentConfigSchema>;

/** Path of the credential that `workbench-agent enroll` fetches. */
export function credentialFileOf({ dataDir }: AgentConfig): string {
  return join(dataDir, 'credential');
}

/** Addresses of the hubs, in the order in which they are tried. */
export function hubAddresses({ hub }: AgentConfig): string[] {
  return typeof hub === 'string' ? [hub] : hub;
}

/** Settings of each instance, with `count` expanded. */
export function instanceSettings({ instances }: AgentConfig): InstanceSettings[] {
  return instances.flatMap((configured) =>
    expandedIds(configured).map((id) => ({
      id,
      version: configured.version,
      revision: configured.revision,
      labels: configured.labels,
      autostart: configured.autostart,
      command: configured.command,
      env: configured.env,
      sandbox: sandboxSettings(configured.sandbox),
      startTimeoutMs: configured.startTimeout,
      stopTimeoutMs: configured.stopTimeout,
      cancelTimeoutMs: configured.cancelTimeout,
    })),
  );
}

/** Null: no sandbox. */
function sandboxSettings(configured: ConfiguredInstance['sandbox']): SandboxSettings | null {
  const settings =
    typeof configured === 'string'
      ? { kind: configured, network: false, gpus: false, readOnly: [] }
      : configured;
  if (settings.kind === 'none') return null;
  const { network, gpus, readOnly } = settings;
  return { network, gpus, readOnly };
}

function expandedIds({ id, count }: Pick<ConfiguredInstance, 'id' | 'count'>): string[] {
  return count === 1 ? [id] : Array.from({ length: count }, (_, index) => `${id}-${index + 1}`);
}

function isHubAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname: host, search, hash, username } = new URL(text);
  return (
    (protocol === 'ws:' || protocol === 'wss:') &&
    host !== '' &&
    search === '' &&
    hash === '' &&
    username === ''
  );
}
