import { windowsPathFault } from '@workbench-hub/shared/domain/reserved-names';

/** Reason why this host cannot have a file at a path, as "must …"; undefined when it can. */
export const thisHostsPathFault: (path: string) => string | undefined =
  process.platform === 'win32' ? windowsPathFault : () => undefined;

/** Whether `Path` and `PATH` are one variable of the environment on this host. */
export const ENVIRONMENT_IGNORES_CASE: boolean = process.platform === 'win32';
