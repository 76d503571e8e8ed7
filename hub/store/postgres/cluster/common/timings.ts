/** Periods of the adapters between hubs, in milliseconds. Tests shorten them. */
export interface ClusterTimings {
  /** Time between renewals of the row of a hub. */
  readonly heartbeatMs: number;
  /** Time without renewal after which a hub is gone. */
  readonly lapseMs: number;
  /** Time without renewal after which a hub lets its agents go: before it is gone for the others. */
  readonly cutOffMs: number;
  /** Time without renewal after which the next start of a hub replaces it. */
  readonly restartMs: number;
  /** Time without a response after which a connection counts as broken. */
  readonly silenceMs: number;
  /** Duration of the scheduler's role from its latest renewal. */
  readonly roleMs: number;
  readonly renewRoleMs: number;
  /** Time for which a hub relies on the role, from the beginning of its latest renewal. */
  readonly trustRoleMs: number;
  /** Time between attempts to gain the role. */
  readonly contendMs: number;
  /** Time for which signals are gathered before they are sent. */
  readonly gatherMs: number;
  /** Pause in sending after which the next signal is sent without gathering. */
  readonly quietMs: number;
  /** Time between resyncs while other hubs live. */
  readonly resyncMs: number;
  /** The same while notifications do not arrive. */
  readonly resyncWithoutNotificationsMs: number;
  /** Time from the start to the first resync, and limit of the way of the own first message. */
  readonly settleMs: number;
  /** Time between looks for replies to open requests. */
  readonly pollRelayMs: number;
}

export const CLUSTER_TIMINGS: ClusterTimings = {
  heartbeatMs: 1000,
  lapseMs: 15_000,
  cutOffMs: 11_500,
  restartMs: 3000,
  silenceMs: 2000,
  roleMs: 5000,
  renewRoleMs: 1500,
  trustRoleMs: 4000,
  contendMs: 250,
  gatherMs: 2,
  quietMs: 4,
  resyncMs: 10_000,
  resyncWithoutNotificationsMs: 1000,
  settleMs: 3000,
  pollRelayMs: 1000,
};
