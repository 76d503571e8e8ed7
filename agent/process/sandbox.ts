/** Sandbox as this folder uses it; bubblewrap.ts implements it. */
import type { PreparedDirectory } from '../core/ports/workspace.js';
import type { SandboxSettings } from '../core/sandbox.js';

export interface Sandbox {
  /** Command that runs `command` in the sandbox, with `directory` as the only writable place. Its descriptor 3 is read by
   *  namespaces.ts. */
  wrap(
    command: readonly string[],
    directory: PreparedDirectory,
    settings: SandboxSettings,
  ): readonly string[];
  /** Environment of the program: inherited variables and those of the sandbox. */
  environment(inherited: Readonly<Record<string, string>>): Record<string, string>;
  /** Runs a program in the sandbox; resolves with null on success, else with a sentence that gives reason and remedy. Never
   *  rejects. */
  test(directory: PreparedDirectory, settings: SandboxSettings): Promise<string | null>;
}

/** Sandbox for one program, and the only directory in which it may write. */
export interface SandboxOfProgram {
  readonly sandbox: Sandbox;
  readonly directory: PreparedDirectory;
  readonly settings: SandboxSettings;
}

/** Result of the search for a sandbox; `fault` is a sentence with reason and remedy. */
export type FoundSandbox = { readonly sandbox: Sandbox } | { readonly fault: string };

/** Paths of the agent that jobs may or may not see. */
export interface Surroundings {
  /** Folders with models for jobs: absolute paths. */
  readonly readable: readonly string[];
  /** Folders and files of the agent, hidden from jobs also below readable folders. */
  readonly hidden: readonly string[];
}
