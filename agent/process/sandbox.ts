/** Sandbox, as the parts of this folder know it; bubblewrap.ts implements it. */
import type { PreparedDirectory } from '../core/ports/workspace.js';
import type { SandboxSettings } from '../core/sandbox.js';

export interface Sandbox {
  /** The command that runs `command` shut in, with `directory` as the only place to write. Its descriptor 3 is to be read as
   *  name-space.ts does. */
  wrap(
    command: readonly string[],
    directory: PreparedDirectory,
    settings: SandboxSettings,
  ): readonly string[];
  /** What of the agent's environment the program gets, and what belongs to the sandbox. */
  environment(inherited: Readonly<Record<string, string>>): Record<string, string>;
  /** Really runs a program in it; gives null when that works, else a sentence that says why not, and what to do. Never
   *  rejects. */
  test(directory: PreparedDirectory, settings: SandboxSettings): Promise<string | null>;
}

/** The outcome of looking for a sandbox; the fault says in a sentence what is missing, and what to do. */
export type FoundSandbox = { readonly sandbox: Sandbox } | { readonly fault: string };

/** What is the agent's own, and what it may show to jobs. */
export interface Surroundings {
  /** Folders that jobs read models from: absolute paths. */
  readonly readable: readonly string[];
  /** The agent's own folders and files, which no job may see, also where a folder that they lie in may be read. */
  readonly hidden: readonly string[];
}
