/** Trials of sandboxes and control groups on this host. */
import { type Finding, faultWithRemedy, ok } from '@workbench-hub/shared/checks/finding';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { openPlatform } from '../../process/this-platform.js';
import type { TriedSandbox } from '../../sandbox-checks.js';

export function sandboxFindings({ working, faults }: Pick<TriedSandbox, 'working' | 'faults'>): Finding[] {
  return [
    ...faults.map((text) => {
      const [check = '', ...message] = text.split(': ');
      return faultWithRemedy(check, message.join(': '));
    }),
    ...working.map((id) => ok(`sandbox of ${id}`, 'works here')),
  ];
}

/** Creates control groups as a start would, and removes them. */
export async function checkControlGroups(dataDir: string, runtime: Runtime): Promise<Finding[]> {
  const { groupKind, findControlGroups } = await openPlatform(dataDir);
  const check = `${groupKind}s`;
  const found = await findControlGroups(runtime.newId(), runtime);
  if ('unavailable' in found) return [ok(check, `none: ${found.unavailable}`)];
  const { path } = found.groups;
  await found.groups.close();
  const place = path === null ? '' : `, as in ${path}`;
  return [ok(check, `each instance program gets one of its own${place}`)];
}
