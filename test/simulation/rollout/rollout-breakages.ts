/** Defects of updates of agents, which their world must find. */
import type { RolloutBreakage } from './simulated-host.js';

export const ROLLOUT_BREAKAGES: readonly RolloutBreakage[] = [
  { name: 'an agent restarts for an update while it runs tasks', isAlwaysEmpty: true },
  { name: 'the time of a trial passes while no hub can be reached', isHubAlwaysThere: true },
  { name: 'what the probe job printed is not looked at', probeIsNotChecked: true },
  { name: 'a hub forgets what has failed', forgetsFailures: true },
  { name: 'a hub orders agents of a rollout that is stopped', ignoresStops: true },
  { name: 'a resumed rollout does not go on past what has failed', resumesNothing: true },
  { name: 'a full disk makes a good version fail', blamesVersions: true },
];
