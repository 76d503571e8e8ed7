import type { HubView } from '../../core/ports/hubs.js';

/** Whether all live hubs have the same version: while they are upgraded one after the other, each would bring agents to its own. */
export function areOfOneVersion(hubs: readonly HubView[]): boolean {
  return new Set(hubs.filter(({ isLive }) => isLive).map(({ version }) => version)).size <= 1;
}
