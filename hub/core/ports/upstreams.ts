/** The hubs that this hub joins as an agent, as clients see them. */
import type { LentState } from '@workbench-hub/shared/domain/instance';

export interface UpstreamView {
  /** Name by which this hub knows it. */
  readonly name: string;
  /** Id of this hub there. */
  readonly agentId: string;
  /** Beginning of the ids that lent instances have there. */
  readonly prefix: string;
  readonly addresses: readonly string[];
  /** The connection; null while it is not joined. */
  readonly joined: { readonly address: string; readonly sinceMs: number } | null;
  /** Reasons of the latest failures to join, of each address; null while it is joined, and before the first failure. */
  readonly failure: string | null;
  /** Number of lent instances by state. */
  readonly instances: Readonly<Record<LentState, number>>;
  /** Loans whose end the upstream has not acknowledged. */
  readonly loans: number;
}

export interface Upstreams {
  /** Those of the configuration, in its order, as the hub with the role of the scheduler sees them. Rejects with HubError `HUB_UNAVAILABLE` when
   *  that hub does not respond in time. */
  all(): Promise<readonly UpstreamView[]>;
  /** Those that this hub has joined or tries to join: none while another hub has the role. */
  own(): readonly UpstreamView[];
}
