/** Periods of the adapters between hubs, in milliseconds. Tests shorten them. */
export interface ClusterTimings {
  /** Between renewals of the row of a hub. */
  readonly heartbeatMs: number;
  /** Without renewal, after which a hub is gone. */
  readonly lapseMs: number;
  /** Without renewal, after which the next start of a hub replaces it. */
  readonly restartMs: number;
  /** Without a response, after which a connection counts as broken. */
  readonly silenceMs: number;
  /** Of the scheduler's role, from its latest renewal. */
  readonly roleMs: number;
  readonly renewRoleMs: number;
  /** For which a hub relies on the role, from the beginning of its latest renewal. */
  readonly trustRoleMs: number;
  /** Between attempts to gain the role. */
  readonly contendMs: number;
  /** For which signals are gathered before they are sent. */
  readonly gatherMs: number;
  /** Between resyncs while other hubs live. */
  readonly resyncMs: number;
  /** The same while notifications do not arrive. */
  readonly resyncWhenDeafMs: number;
  /** From the start to the first resync, and from the own first message to its arrival. */
  readonly settleMs: number;
  /** Between looks for replies to open requests. */
  readonly pollMailMs: number;
}

export const CLUSTER_TIMINGS: ClusterTimings = {
  heartbeatMs: 1000,
  lapseMs: 15_000,
  restartMs: 3000,
  silenceMs: 2000,
  roleMs: 5000,
  renewRoleMs: 1500,
  trustRoleMs: 4000,
  contendMs: 250,
  gatherMs: 2,
  resyncMs: 10_000,
  resyncWhenDeafMs: 1000,
  settleMs: 3000,
  pollMailMs: 1000,
};
