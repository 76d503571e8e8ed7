/** Terms of workbench instances and agents (contract 1.6). */

export const INSTANCE_STATUSES = ['UP', 'STARTING', 'STOPPING', 'DOWN', 'FAILED', 'UNKNOWN'] as const;
export type InstanceStatus = (typeof INSTANCE_STATUSES)[number];

/** Statuses that an agent reports; a hub shows UNKNOWN for an unreachable agent. */
export const REPORTED_INSTANCE_STATUSES = ['UP', 'STARTING', 'STOPPING', 'DOWN', 'FAILED'] as const;
export type ReportedInstanceStatus = (typeof REPORTED_INSTANCE_STATUSES)[number];

/** Commands of operators. */
export const INSTANCE_COMMANDS = ['start', 'stop', 'restart'] as const;
export type InstanceCommand = (typeof INSTANCE_COMMANDS)[number];

/** `console` is both, in order. */
export const INSTANCE_LOG_TYPES = ['stdout', 'stderr', 'console'] as const;
export type InstanceLogType = (typeof INSTANCE_LOG_TYPES)[number];

export const AGENT_STATUSES = ['UP', 'DOWN'] as const;
export type AgentStatus = (typeof AGENT_STATUSES)[number];

/** Configuration of an instance that matching uses. */
export interface InstanceProfile {
  readonly id: string;
  readonly version: string;
  readonly revision: string;
  readonly labels: readonly string[];
}

/** Number of crashes that an agent keeps of an instance. */
export const MAX_CRASHES = 50;

/** Maximum length of their reasons. */
export const MAX_CRASH_REASON_LENGTH = 4000;

/** A crash: an end of an instance program that nobody asked for. */
export interface InstanceCrash {
  /** Time that has passed since then. A duration needs no common clock. */
  readonly agoMs: number;
  readonly reason: string;
  /** Task that the instance worked on; null when it worked on none. */
  readonly taskId: string | null;
}

/** The crashes of an instance since its agent started. */
export interface InstanceCrashes {
  /** Uptime of the agent. */
  readonly agentUpForMs: number;
  readonly count: number;
  /** The latest of them, newest first. */
  readonly latest: readonly InstanceCrash[];
}

/** An agent's statement about one of its instances. */
export interface InstanceReport extends InstanceProfile {
  readonly status: ReportedInstanceStatus;
  /** Uptime of its process; null when it is not up. A duration needs no common clock. */
  readonly upForMs: number | null;
}
