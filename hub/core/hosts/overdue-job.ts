/** A job that its workload manager still has after it was canceled and its time was over, as one whose host cannot be reached. */
import type { ManagerSettings } from './host-recipe.js';

/** Commands that remove a job without its host. Others have none. */
const BY_FORCE: Partial<Record<ManagerSettings['kind'], string>> = {
  'grid-engine': 'qdel -f',
  htcondor: 'condor_rm -forcex',
};

/** Message for administrators about such a job. */
export function overdueMessage(kind: ManagerSettings['kind'], jobId: string): string {
  const command = BY_FORCE[kind];
  const remedy = command === undefined ? 'remove it there by force' : `remove it by ${command} ${jobId}`;
  return `the workload manager still has job ${jobId}, which was canceled and whose time is over: ${remedy}`;
}
