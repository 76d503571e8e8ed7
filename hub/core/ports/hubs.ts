/** The hubs of a store. */

export interface HubView {
  readonly id: string;
  readonly version: string;
  /** URL at which it can be reached itself; empty before it listens. */
  readonly address: string;
  /** Times by the clock of the store, in milliseconds since 1970. */
  readonly startedAtMs: number;
  readonly seenAtMs: number;
  /** Whether it has been seen lately. */
  readonly isLive: boolean;
  readonly isScheduler: boolean;
  /** Number of its term as the scheduler; null when it is not the scheduler. */
  readonly term: number | null;
  /** Number of agents that are connected to it, and of tasks that run on them. */
  readonly agents: number;
  readonly runningTasks: number;
  /** Lead of its machine's clock over the store's; null until it is known. */
  readonly clockOffsetMs: number | null;
  /** Time of its shutdown preparation; null when there is none. */
  readonly preparedAtMs: number | null;
}

export interface Hubs {
  /** Id of this hub. */
  readonly ownId: string;
  /** All hubs, by id; one that has ended in order is not among them. Rejects with HubError `STORE_UNAVAILABLE`. */
  all(): Promise<readonly HubView[]>;
  /** Number of other live hubs, as last seen. */
  others(): number;
  /** Their addresses, as last seen, in the order of their ids; of those that have one. */
  otherAddresses(): readonly string[];
  /** This hub can be reached at this URL. Rejects with HubError `STORE_UNAVAILABLE`. */
  listensAt(address: string): Promise<void>;
}
