/** Trials of sandboxes and control groups on this host. */
import { resolve } from 'node:path';
import { type Finding, faultWithRemedy, ok } from '@workbench-hub/shared/checks/finding';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { AgentConfig } from '../../config.js';
import { limitsFault } from '../../limits-check.js';
import { openPlatform } from '../../process/this-platform.js';
import type { TriedSandbox } from '../../sandbox-checks.js';

export function sandboxFindings({ working, faults }: Pick<TriedSandbox, 'working' | 'faults'>): Finding[] {
  return [...faults.map(faultOf), ...working.map((id) => ok(`sandbox of ${id}`, 'works here'))];
}

/** Finding of a text such as `sandbox of sim-1: …`. */
function faultOf(text: string): Finding {
  const [check = '', ...message] = text.split(': ');
  return faultWithRemedy(check, message.join(': '));
}

/** Creates control groups as a start would, and removes them. */
export async function checkControlGroups(config: AgentConfig, runtime: Runtime): Promise<Finding[]> {
  const { groupKind, findControlGroups } = await openPlatform(resolve(config.dataDir));
  const check = `${groupKind}s`;
  const found = await findControlGroups(runtime.newId(), runtime);
  const limitsNotKept = limitsFault(config, found);
  const faults = limitsNotKept === null ? [] : [faultOf(limitsNotKept)];
  if ('unavailable' in found) return [ok(check, `none: ${found.unavailable}`), ...faults];
  const { path } = found.groups;
  await found.groups.close();
  const place = path === null ? '' : `, as in ${path}`;
  return [ok(check, `each instance program gets one of its own${place}`), ...faults];
}
