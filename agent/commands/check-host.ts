/** `workbench-agent --check-config` beyond the file: checks whether an agent with this configuration can start here. */
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkBuildTime } from '@workbench-hub/shared/checks/build-time-check';
import { type Finding, fault } from '@workbench-hub/shared/checks/finding';
import { checkPrograms } from '@workbench-hub/shared/checks/program-checks';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { AgentConfig } from '../config.js';
import { inheritedEnvironment } from '../core/job-environment.js';
import { prepareDirectory } from '../disk/prepared-directory.js';
import type { Sandbox } from '../process/sandbox.js';
import { trySandboxes } from '../sandbox-checks.js';
import { checkAgentFolders, checkModelFolders } from './checks/folder-checks.js';
import { checkControlGroups, sandboxFindings } from './checks/sandbox-checks.js';
import { checkSecret } from './checks/secret-check.js';
import { checkTls } from './checks/tls-checks.js';

export interface HostCheckOptions {
  /** Path of the configuration file, which no job may see. */
  readonly configFile: string | null;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly runtime: Runtime;
}

/** Further trials with the sandbox of the instances, in a temporary folder. */
export type Trial = (
  sandbox: Sandbox | null,
  prepare: () => ReturnType<typeof prepareDirectory>,
) => Promise<Finding[]>;

/** Opens files and folders as a start would, and tests sandboxes in a temporary folder; changes nothing, and needs no network. */
export async function checkHost(
  config: AgentConfig,
  options: HostCheckOptions,
  further: Trial = () => Promise.resolve([]),
): Promise<Finding[]> {
  const { environment, runtime } = options;
  const nowMs = runtime.clock.nowMs();
  return [
    ...checkBuildTime(runtime.clock),
    ...(await checkAgentFolders(config)),
    ...(await checkSecret(config)),
    ...(await checkTls(config, nowMs)),
    ...(await checkModelFolders(config)),
    ...(await checkPrograms(config.instances, environment, PROGRAMS_FROM)),
    ...(await checkControlGroups(config, runtime)),
    ...(await tryInTemporaryFolder(config, options, further)),
  ];
}

/** A folder of the product, for the search of its own programs. */
const PROGRAMS_FROM = dirname(fileURLToPath(import.meta.url));

async function tryInTemporaryFolder(
  config: AgentConfig,
  { configFile, environment }: HostCheckOptions,
  further: Trial,
): Promise<Finding[]> {
  const folder = temporaryFolder(resolve(config.dataDir));
  if (folder === undefined) {
    const message = `no folder for temporary files can be written: ${tmpdir()}`;
    return [fault('temporary files', message, 'set TMPDIR to a folder that this user can write')];
  }
  try {
    const prepare = () => prepareDirectory(folder);
    const tried = await trySandboxes(config, {
      environment: inheritedEnvironment(environment),
      configFile,
      prepareDirectory: prepare,
    });
    return [...sandboxFindings(tried), ...(await further(tried.sandbox, prepare))];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Prefers the folder of working directories, which may be one that only its owner may enter. */
function temporaryFolder(dataDir: string): string | undefined {
  for (const parent of [join(dataDir, 'work'), tmpdir()]) {
    try {
      return mkdtempSync(join(parent, 'check-'));
    } catch {
      // Missing, or another user's: try the next one.
    }
  }
  return undefined;
}
