/** Work of the hub that has the role of the scheduler, in each of its terms. */
import type { RoleHolder } from '../core/ports/roles.js';
import type { AgentRollout } from './agents/agent-rollout.js';
import type { Leases } from './agents/leases.js';
import type { Hosts } from './hosts/hosts.js';
import type { DoubtedAttempts } from './instances/doubted-attempts.js';
import type { Lending } from './lending/lending.js';
import type { Scheduler } from './scheduling/scheduler.js';
import type { StudyDriver } from './studies/study-driver.js';
import type { Resynchronization } from './upkeep/resynchronization.js';
import type { Sweeper } from './upkeep/sweeper.js';

export interface SchedulerTermsParts {
  readonly leases: Leases;
  readonly doubted: DoubtedAttempts;
  readonly scheduler: Scheduler;
  readonly sweeper: Sweeper;
  readonly resync: Resynchronization;
  readonly lending: Lending;
  readonly studyDriver: StudyDriver;
  readonly hosts: Hosts;
  readonly rollout: AgentRollout;
}

/** `onGain` is called at the beginning of each term. */
export function schedulerTerms(
  { leases, doubted, scheduler, sweeper, resync, lending, studyDriver, hosts, rollout }: SchedulerTermsParts,
  onGain: () => void,
): RoleHolder {
  const end = async () => {
    const driven = [studyDriver.stop(), hosts.stop(), rollout.stop()];
    await lending.stop();
    await scheduler.stop();
    doubted.stop();
    await leases.stop();
    await sweeper.stop();
    await Promise.all(driven);
  };
  return {
    gained: async (term) => {
      onGain();
      leases.start(term);
      doubted.start();
      try {
        await resync.now();
        await hosts.load(term);
        await scheduler.start(term);
        await lending.start();
        studyDriver.start();
        hosts.start();
        rollout.start(term);
      } catch (error) {
        // Leases that began must not count in the next term.
        await end();
        throw error;
      }
      sweeper.start();
    },
    lost: end,
  };
}
