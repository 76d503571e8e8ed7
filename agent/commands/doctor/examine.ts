import { type Finding, ok } from '@workbench-hub/shared/checks/finding';
import type { AgentConfig } from '../../config.js';
import { checkHost, type HostCheckOptions } from '../check-host.js';
import { checkHubs } from './hub-checks.js';
import { tryPrograms } from './program-starts.js';

export interface DoctorOptions extends HostCheckOptions {
  /** False: starts no instance program, which may take a license. */
  readonly startPrograms: boolean;
}

/** Examines the agent of this configuration, whether or not it runs. Changes nothing, and joins no hub. */
export async function examine(config: AgentConfig, options: DoctorOptions): Promise<Finding[]> {
  const { environment, runtime, startPrograms } = options;
  const host = await checkHost(config, options, (sandbox, prepareDirectory) =>
    startPrograms
      ? tryPrograms(config, { environment, sandbox, prepareDirectory, runtime })
      : Promise.resolve([]),
  );
  return [ok('configuration', 'valid'), ...host, ...(await checkHubs(config, runtime))];
}
