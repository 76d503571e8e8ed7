/** The agent's configuration (contract 13.2). */
import { hostname } from 'node:os';
import { join } from 'node:path';
import { agentIdSchema } from '@workbench-hub/shared/agent-protocol/messages';
import {
  absolutePath,
  type ConfiguredInstance,
  expandedIds,
  instancesSchema,
} from '@workbench-hub/shared/config/instances';
import { checkJoiningKeys, hubAddressesSchema, joiningKeys } from '@workbench-hub/shared/config/joining';
import { type ConfigSource, type LoadedConfig, loadConfig } from '@workbench-hub/shared/config/load';
import { logSection, logSettings } from '@workbench-hub/shared/config/log';
import { checkPlatformLabels, withPlatformLabels } from '@workbench-hub/shared/config/platform-labels';
import { duration, section, size } from '@workbench-hub/shared/config/values';
import { KEEP_POLICIES } from '@workbench-hub/shared/domain/keep-policy';
import { tracingSection } from '@workbench-hub/shared/tracing/config';
import { z } from 'zod';
import type { ResourceLimits } from './core/resource-limits.js';
import type { SandboxSettings } from './core/sandbox.js';
import type { InstanceSettings } from './engine/supervisor.js';

export const ENVIRONMENT_PREFIX = 'WORKBENCH_AGENT';

export const agentConfigSchema = z
  .strictObject({
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
  })
  .superRefine((config, context) => {
    checkJoiningKeys(config, context);
    if (config.platformLabels) checkPlatformLabels(config.instances, context);
    for (const unc of Object.keys(config.uncMounts)) {
      if (!/^\\\\[^\\/]+\\[^\\/]+/.test(unc)) {
        context.addIssue({
          code: 'custom',
          path: ['uncMounts', unc],
          message: String.raw`keys such as \\server\share`,
        });
      }
    }
  });

export type AgentConfig = z.output<typeof agentConfigSchema>;

/** Reads the file (or none) and the environment. */
export function loadAgentConfig(
  file: string | null,
  environment: ConfigSource<never>['environment'],
): LoadedConfig<AgentConfig> {
  return loadConfig({ schema: agentConfigSchema, file, environment, environmentPrefix: ENVIRONMENT_PREFIX });
}

/** Path of the credential that `workbench-agent enroll` fetches. */
export function credentialFileOf({ dataDir }: AgentConfig): string {
  return join(dataDir, 'credential');
}

/** Settings of the agent's log. */
export function logSettingsOf(config: AgentConfig) {
  return logSettings(config.log, logFileOf(config));
}

/** Path of the log file. */
export function logFileOf({ log, dataDir }: AgentConfig): string {
  return log.file ?? join(dataDir, 'logs', 'agent.log');
}

/** Addresses of the hubs, as they are configured. */
export function hubAddresses({ hub }: AgentConfig): string[] {
  return typeof hub === 'string' ? [hub] : hub;
}

/** Settings of each instance, with `count` expanded. */
export function instanceSettings({
  instances,
  platformLabels: isPlatformTold,
}: AgentConfig): InstanceSettings[] {
  return instances.flatMap((configured, index) =>
    expandedIds(configured).map((id) => ({
      id,
      version: configured.version,
      revision: configured.revision,
      labels: isPlatformTold ? withPlatformLabels(configured.labels) : configured.labels,
      autostart: configured.autostart,
      command: configured.command,
      env: configured.env,
      sandbox: sandboxSettings(configured.sandbox),
      limits: resourceLimits(configured.limits),
      commonProcess: mayShare(configured) ? `entry ${index + 1}` : null,
      startTimeoutMs: configured.startTimeout,
      stopTimeoutMs: configured.stopTimeout,
      cancelTimeoutMs: configured.cancelTimeout,
    })),
  );
}

/** A sandbox serves one job, and so one instance; limits are those of one instance. */
function mayShare({ count, sandbox, limits, sharedProcess }: ConfiguredInstance): boolean {
  return sharedProcess && count > 1 && sandboxSettings(sandbox) === null && resourceLimits(limits) === null;
}

/** Null: no limits. */
function resourceLimits({ memory, processors }: ConfiguredInstance['limits']): ResourceLimits | null {
  return memory === null && processors === null ? null : { memoryBytes: memory, processors };
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
