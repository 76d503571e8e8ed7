/** Terms of hubs that join other hubs. */

/** A hub below another one: its instances reach the other by way of the hubs of `path`. */
export interface LowerHub {
  /** Identity of the hub, or of all hubs on one database. */
  readonly id: string;
  /** Agent ids of the hubs on the way down; the last is its own. */
  readonly path: readonly string[];
}

/** A hub that joins another one as an agent. */
export interface JoinedHub {
  /** Identity of the hub, or of all hubs on one database. */
  readonly id: string;
  /** Address for access to it; null when it has no public one. */
  readonly baseUrl: string | null;
  /** Hubs that have joined it, directly or over others. */
  readonly below: readonly LowerHub[];
  /** Whether it can be asked for hosts of its recipes. Hubs of earlier versions do not say so, nor does one that holds its connection. */
  readonly bringsHosts?: true;
}

/** Maximum number of hubs below one. */
export const MAX_LOWER_HUBS = 1000;

/** Maximum length of a path. */
export const MAX_HUB_LEVELS = 8;

/** Path from the hub `ownId` down to itself, if the agent `agentId`, which is this hub, closes a circle; otherwise undefined. */
export function circleOf(
  ownId: string,
  agentId: string,
  { id, below }: JoinedHub,
): readonly string[] | undefined {
  if (id === ownId) return [agentId];
  const itself = below.find((lower) => lower.id === ownId);
  return itself && [agentId, ...itself.path];
}

/** Hubs below a hub that these agents have joined. */
export function lowerHubsOf(
  agents: Iterable<{ readonly id: string; readonly hub?: JoinedHub | undefined }>,
): LowerHub[] {
  return [...agents].flatMap(({ id: agentId, hub }) =>
    hub
      ? [
          { id: hub.id, path: [agentId] },
          ...hub.below.map(({ id, path }) => ({ id, path: [agentId, ...path] })),
        ]
      : [],
  );
}
