/** The sandbox of this agent's instances, if any is to have one: found, and really tried. */
import { resolve } from 'node:path';
import { type AgentConfig, instanceSettings } from './config.js';
import type { PreparedDirectory } from './core/ports/workspace.js';
import type { Sandbox } from './process/sandbox.js';
import { findSandbox } from './process/this-platform.js';

export interface TriedSandbox {
  /** Null when no instance asks for one, or none works. */
  readonly sandbox: Sandbox | null;
  /** Reasons why the sandbox of some instance does not work here, in sentences. */
  readonly faults: readonly string[];
  /** The instances whose sandbox works. */
  readonly working: readonly string[];
}

export interface SandboxOptions {
  /** Environment of the agent. */
  readonly environment: Readonly<Record<string, string>>;
  /** Source of the configuration. */
  readonly configFile: string | null;
  /** Prepares the directory in which a trial may write. */
  readonly prepareDirectory: () => PreparedDirectory;
}

/** Finds the sandbox, if any instance is to have one, and starts a trial program in that of each such instance. */
export async function trySandboxes(
  config: AgentConfig,
  { environment, configFile, prepareDirectory }: SandboxOptions,
): Promise<TriedSandbox> {
  const wanting = instanceSettings(config).filter((instance) => instance.sandbox !== null);
  if (wanting.length === 0) return { sandbox: null, faults: [], working: [] };
  const { fileRoots, uncMounts, dataDir, tokenFile, tls } = config;
  const hidden = [dataDir, tokenFile, tls.key, configFile]
    .filter((path) => path !== null)
    .map((path) => resolve(path));
  const found = await findSandbox(environment, {
    readable: [...fileRoots, ...Object.values(uncMounts)],
    hidden,
  });
  const ids = (instances: typeof wanting) => instances.map(({ id }) => id).join(', ');
  if ('fault' in found)
    return { sandbox: null, faults: [`sandbox of ${ids(wanting)}: ${found.fault}`], working: [] };
  const alike = new Map<string, typeof wanting>();
  for (const instance of wanting) {
    const key = JSON.stringify(instance.sandbox);
    alike.set(key, [...(alike.get(key) ?? []), instance]);
  }
  const faults: string[] = [];
  const working: string[] = [];
  const directory = prepareDirectory();
  try {
    for (const instances of alike.values()) {
      const settings = instances[0]?.sandbox;
      const fault = settings ? await found.sandbox.test(directory, settings) : null;
      if (fault === null) working.push(...instances.map(({ id }) => id));
      else faults.push(`sandbox of ${ids(instances)}: ${fault}`);
    }
  } finally {
    await directory.abandon();
  }
  return { sandbox: found.sandbox, faults, working };
}
