/** Keys of an agent's configuration (contract 13.2): of its file, and in the recipes by which a hub brings agents. */
import { hostname } from 'node:os';
import { z } from 'zod';
import { agentIdSchema } from '../agent-protocol/messages.js';
import { absolutePath, instancesSchema } from '../config/instances.js';
import { checkJoiningKeys, hubAddressesSchema, joiningKeys } from '../config/joining.js';
import { logSection } from '../config/log.js';
import { duration, section, size } from '../config/values.js';
import { KEEP_POLICIES } from '../domain/keep-policy.js';
import { tracingSection } from '../tracing/config.js';

/** All keys, without what {@link checkAgentKeys} finds. */
export const agentKeysSchema = z.strictObject({
  id: agentIdSchema.prefault(() => hostname()),
  hub: hubAddressesSchema.prefault('ws://127.0.0.1:8080'),
  ...joiningKeys,
  dataDir: z.string().min(1).default('./workbench-agent-data'),
  fileRoots: z.array(absolutePath).default([]),
  drainTimeout: duration({ minMs: 0 }).prefault('0s'),
  /** Time after its start at which the agent stops by itself; by default, it does not. */
  stopAfter: duration({ minMs: 1000 }).nullable().default(null),
  /** Whether the hub may update this agent. */
  updates: z.boolean().default(true),
  keepWorkingDirectories: z.enum(KEEP_POLICIES).default('never'),
  uncMounts: z.record(z.string(), absolutePath).default({}),
  /** Whether all instances have labels of the system of this host. */
  platformLabels: z.boolean().default(false),
  instances: instancesSchema,
  limits: section({
    taskLog: size().prefault('16MiB'),
    fileCache: size({ minBytes: 0 }).prefault('20GiB'),
    taskOutputs: size().prefault('32GiB'),
    outputFile: size().prefault('16GiB'),
    outputFiles: z.int().min(1).default(20_000),
  }),
  tracing: tracingSection(),
  log: logSection(),
});

type CheckedKeys = Pick<z.output<typeof agentKeysSchema>, 'token' | 'tokenFile' | 'tls' | 'uncMounts'>;

/** Reports keys that exclude or need each other, and mounts of what is no share. */
export function checkAgentKeys(config: CheckedKeys, context: Pick<z.RefinementCtx, 'addIssue'>): void {
  checkJoiningKeys(config, context);
  for (const unc of Object.keys(config.uncMounts)) {
    if (/^\\\\[^\\/]+\\[^\\/]+/.test(unc)) continue;
    context.addIssue({
      code: 'custom',
      path: ['uncMounts', unc],
      message: String.raw`keys such as \\server\share`,
    });
  }
}
