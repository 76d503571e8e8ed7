/** The agent's configuration (contract 13.2). */
import { join } from 'node:path';
import { agentKeysSchema, checkAgentKeys } from '@workbench-hub/shared/agent-config/agent-config';
import { type ConfiguredInstance, expandedIds } from '@workbench-hub/shared/config/instances';
import { type ConfigSource, type LoadedConfig, loadConfig } from '@workbench-hub/shared/config/load';
import { logSettings } from '@workbench-hub/shared/config/log';
import { checkPlatformLabels, withPlatformLabels } from '@workbench-hub/shared/config/platform-labels';
import type { z } from 'zod';
import type { ResourceLimits } from './core/resource-limits.js';
import type { SandboxSettings } from './core/sandbox.js';
import type { InstanceSettings } from './engine/supervisor.js';

export const ENVIRONMENT_PREFIX = 'WORKBENCH_AGENT';

export const agentConfigSchema = agentKeysSchema.superRefine((config, context) => {
  checkAgentKeys(config, context);
  if (config.platformLabels) checkPlatformLabels(config.instances, context);
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
