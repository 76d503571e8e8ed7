/** Hubs that join an engine, whose recipes of hosts the test chooses. */
import { createHash } from 'node:crypto';
import type { LentRecipe, WantedInstances } from '@workbench-hub/shared/domain/lent-recipe';
import { join } from './engine-for-each-test.js';
import type { AgentSetup, SocketlessAgent } from './running-engine.js';

export const lentRecipeWith = (fields: Partial<LentRecipe> = {}): LentRecipe => ({
  name: 'gears',
  instances: [{ version: '9.1', labels: ['gears'], count: 1 }],
  usableMs: 3_600_000,
  ...{ free: 2, coming: 0, joined: 0, comingForMs: null, expectedInMs: null },
  ...{ obstacle: null, nextTryInMs: null },
  ...fields,
});

export const hubOf = (id: string) => ({
  id: `0190b5a0-0000-7000-8000-${createHash('sha256').update(id).digest('hex').slice(0, 12)}`,
  baseUrl: null,
  below: [],
  bringsHosts: true as const,
});

export interface Site {
  readonly agent: SocketlessAgent;
  /** Wishes of each request, in order; null for one that asked for the recipes only. */
  readonly wanted: (readonly WantedInstances[] | null)[];
  /** Recipes that it answers with; null for no answer. */
  recipes: readonly LentRecipe[] | null;
}

/** All that was wanted of it. */
export const wishesOf = ({ wanted }: Site) => wanted.flatMap((each) => each ?? []);

/** The setup of a hub that joins, and what it hears; the test chooses its recipes. */
export function siteSetup(id: string, recipes: readonly LentRecipe[] = [lentRecipeWith()]) {
  const site: Omit<Site, 'agent'> = { recipes, wanted: [] };
  const setup: AgentSetup = {
    id,
    instances: [],
    hub: hubOf(id),
    answers: ['bringHosts'],
    onRequest: (request) => {
      if (request.kind !== 'bringHosts') return undefined;
      site.wanted.push(request.wanted ?? null);
      return site.recipes === null ? undefined : { recipes: site.recipes };
    },
  };
  return { site, setup };
}

/** The hub joins the engine of the running test. */
export async function joinSite(
  id = 'berlin',
  recipes: readonly LentRecipe[] = [lentRecipeWith()],
  nodeId?: string,
): Promise<Site> {
  const { site, setup } = siteSetup(id, recipes);
  const agent = await join({ ...setup, ...(nodeId && { nodeId }) });
  return Object.assign(site, { agent });
}
