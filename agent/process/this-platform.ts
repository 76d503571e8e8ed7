import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { openBubblewrap } from './bubblewrap.js';
import type { FoundControlGroups } from './control-groups.js';
import { linux } from './linux.js';
import { openControlGroups } from './linux-control-groups.js';
import type { Platform } from './platform.js';
import { portable } from './portable.js';
import type { FoundSandbox, Surroundings } from './sandbox.js';

const isLinux = process.platform === 'linux';

/** Implementation for this system. */
export const thisPlatform: Platform = isLinux ? linux : portable;

/** Control groups of this agent; those of an earlier run are ended. Never rejects. */
export async function findControlGroups(nodeId: string, runtime: Runtime): Promise<FoundControlGroups> {
  if (!isLinux) return { unavailable: 'they are a feature of Linux' };
  return openControlGroups(nodeId, runtime);
}

/** Sandbox of this system. `environment` is the agent's own. Never rejects. */
export async function findSandbox(
  environment: Readonly<Record<string, string>>,
  surroundings: Surroundings,
): Promise<FoundSandbox> {
  if (!isLinux) return { fault: 'bubblewrap exists for Linux only' };
  return openBubblewrap(environment, surroundings);
}
