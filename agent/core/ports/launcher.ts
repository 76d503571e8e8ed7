/** The launcher: the process of the installed file, which has started this agent and starts another version of it on request. */

import type { UntriedVersion } from '../version-states.js';

/** Message of the agent to its launcher. Launchers are never updated: messages are only added, and each is answered. */
export type ToLauncher =
  /** The version in this folder is to be tried once the agent has ended; `again` passes over the pause after a fault of the host. */
  | { readonly type: 'try'; readonly name: string; readonly livenessUrl: string; readonly again?: boolean }
  /** The version that is on trial has proven itself. */
  | { readonly type: 'proven' };

export type FromLauncher =
  /** Answer to each message; the fault is null when it was carried out. */
  | { readonly type: 'answer'; readonly fault: string | null }
  /** Request to stop in order; a second one to stop at once. */
  | { readonly type: 'stop' };

/** How the agent was launched: the value of {@link LAUNCH_VARIABLE}, in JSON. */
export interface Launch {
  /** Name of the folder of the version that runs; null for the installed file. */
  readonly version: string | null;
  /** Whether it is on trial. */
  readonly isTrial: boolean;
  /** Path of the installed file. */
  readonly installed: string;
  /** The latest version that a fault of the host has kept from its trial; absent for none, and from earlier launchers. */
  readonly untried?: Pick<UntriedVersion, 'name' | 'reason'>;
}

/** Variable with which a launcher starts an agent. */
export const LAUNCH_VARIABLE = 'WORKBENCH_AGENT_LAUNCH';

export interface Launcher {
  readonly launch: Launch;
  /** Has a version tried once this agent has ended; resolves with null, or with the reason why not. */
  tryVersion(name: string, livenessUrl: string, again: boolean): Promise<string | null>;
  /** Tells that this version has proven itself; resolves with null once that is durable, or with the reason why it is not. */
  proven(): Promise<string | null>;
}
