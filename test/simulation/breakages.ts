/** The defects that are put into the simulated parts on purpose: each must be found, or the simulation proves nothing. */
import { AGENT_BREAKAGES } from './breakages/agents.js';
import { ATTEMPT_BREAKAGES } from './breakages/attempts.js';
import type { Breakage } from './breakages/breakage.js';
import { CLUSTER_BREAKAGES } from './breakages/cluster.js';
import { DURABILITY_BREAKAGES } from './breakages/durability.js';
import { RECOVERY_BREAKAGES } from './breakages/recovery.js';
import { SERVER_BREAKAGES } from './breakages/server.js';
import { WEBHOOK_BREAKAGES } from './breakages/webhooks.js';

export const BREAKAGES: readonly Breakage[] = [
  ...DURABILITY_BREAKAGES,
  ...ATTEMPT_BREAKAGES,
  ...AGENT_BREAKAGES,
  ...RECOVERY_BREAKAGES,
  ...WEBHOOK_BREAKAGES,
  ...SERVER_BREAKAGES,
  ...CLUSTER_BREAKAGES,
];
