import { messageOf } from '@workbench-hub/shared/runtime/message-of';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { unpackInto } from '@workbench-hub/shared/runtime/unpacked-parts';
import { openBubblewrap } from './bubblewrap.js';
import type { FoundControlGroups } from './control-groups.js';
import { linux } from './linux.js';
import { openControlGroups } from './linux-control-groups.js';
import type { Platform } from './platform.js';
import { portable } from './portable.js';
import type { FoundSandbox, Surroundings } from './sandbox.js';

/** Processes of this system. */
export interface HostPlatform {
  readonly platform: Platform;
  /** Term of the system for a group that the kernel keeps. */
  readonly groupKind: 'control group' | 'job object';
  /** Opens the groups of this agent; processes of an earlier run in them are ended. Never rejects. */
  findControlGroups(nodeId: string, runtime: Runtime): Promise<FoundControlGroups>;
}

/** Opens the implementation for this system; parts of the single file may be unpacked into `folder`, which only this user may write.
 *  Never rejects. */
export async function openPlatform(folder: string): Promise<HostPlatform> {
  unpackInto(folder);
  switch (process.platform) {
    case 'linux':
      return { platform: linux, groupKind: 'control group', findControlGroups: openControlGroups };
    case 'win32':
      return openWindows();
    default:
      return {
        platform: portable,
        groupKind: 'control group',
        findControlGroups: () => Promise.resolve({ unavailable: 'they are a feature of Linux' }),
      };
  }
}

async function openWindows(): Promise<HostPlatform> {
  const groupKind = 'job object';
  try {
    // Imported on demand: no other system has them.
    const [{ systemCalls }, { loadKoffi }, { windows }, { openJobObjects }] = await Promise.all([
      import('./windows/system-calls.js'),
      import('./windows/load-koffi.js'),
      import('./windows/windows.js'),
      import('./windows/job-objects.js'),
    ]);
    const calls = systemCalls(await loadKoffi());
    const findControlGroups: HostPlatform['findControlGroups'] = (_, runtime) =>
      Promise.resolve(openJobObjects(calls, runtime));
    return { platform: windows(calls), groupKind, findControlGroups };
  } catch (error) {
    const unavailable = `the functions of Windows cannot be called (${messageOf(error)}); allow the file koffi.node in the rules of this host`;
    return { platform: portable, groupKind, findControlGroups: () => Promise.resolve({ unavailable }) };
  }
}

/** Sandbox of this system. `environment` is the agent's own. Never rejects. */
export async function findSandbox(
  environment: Readonly<Record<string, string>>,
  surroundings: Surroundings,
): Promise<FoundSandbox> {
  if (process.platform !== 'linux') return { fault: 'bubblewrap exists for Linux only' };
  return openBubblewrap(environment, surroundings);
}
