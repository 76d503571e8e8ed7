/** The vocabulary of workbench instances and agents (contract 1.6). */

export const INSTANCE_STATUSES = ['UP', 'STARTING', 'STOPPING', 'DOWN', 'FAILED', 'UNKNOWN'] as const;
export type InstanceStatus = (typeof INSTANCE_STATUSES)[number];

/** What an agent can say of its own instance: UNKNOWN is only what a hub says of an agent that is away. */
export const REPORTED_INSTANCE_STATUSES = ['UP', 'STARTING', 'STOPPING', 'DOWN', 'FAILED'] as const;
export type ReportedInstanceStatus = (typeof REPORTED_INSTANCE_STATUSES)[number];

/** What an operator may ask of an instance. */
export const INSTANCE_COMMANDS = ['start', 'stop', 'restart'] as const;
export type InstanceCommand = (typeof INSTANCE_COMMANDS)[number];

/** `console` is both, in order. */
export const INSTANCE_LOG_TYPES = ['stdout', 'stderr', 'console'] as const;
export type InstanceLogType = (typeof INSTANCE_LOG_TYPES)[number];

export const AGENT_STATUSES = ['UP', 'DOWN'] as const;
export type AgentStatus = (typeof AGENT_STATUSES)[number];

/** What is configured of an instance and what tasks are matched against. */
export interface InstanceProfile {
  readonly id: string;
  readonly version: string;
  readonly revision: string;
  readonly labels: readonly string[];
}

/** What an agent reports of one of its instances. */
export interface InstanceReport extends InstanceProfile {
  readonly status: ReportedInstanceStatus;
  /** For how long its process has been up, null when it is not: ages need no common clock. */
  readonly upForMs: number | null;
}
