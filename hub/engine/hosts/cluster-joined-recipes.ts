/** Recipes of the hubs that have joined, as any hub of a cluster sees them: the one with the role of the scheduler is asked. */
import type { JoinedRecipe } from '../../core/hosts/joined-recipe.js';
import type { Hubs } from '../../core/ports/hubs.js';
import { AgentUnavailable, type Relay } from '../../core/ports/relay.js';
import type { Instances } from '../instances/instances.js';
import type { JoinedRecipes } from './joined-recipes.js';

export interface ClusterJoinedRecipesOptions {
  readonly joined: Pick<JoinedRecipes, 'all'>;
  readonly instances: Pick<Instances, 'agents'>;
  readonly hubs: Pick<Hubs, 'ownId' | 'others' | 'all'>;
  readonly relay: Pick<Relay, 'askHub' | 'serveHub'>;
}

const TIMEOUT_MS = 5000;

/** None while the hub that knows them cannot be asked. Rejects as the store does. */
export function clusterJoinedRecipes(
  options: ClusterJoinedRecipesOptions,
): () => Promise<readonly JoinedRecipe[]> {
  const { joined, instances, hubs, relay } = options;
  relay.serveHub('joinedRecipes', async () => ({ error: null, text: JSON.stringify(joined.all()) }));
  return async () => {
    const own = joined.all();
    if (own.length > 0 || hubs.others() === 0 || instances.agents().every(({ hub }) => !hub)) return own;
    const scheduler = (await hubs.all()).find(({ isScheduler, isLive }) => isScheduler && isLive);
    if (!scheduler || scheduler.id === hubs.ownId) return own;
    const asked = relay.askHub(scheduler.id, { kind: 'joinedRecipes' }, TIMEOUT_MS);
    const { text } = await asked.catch((error: unknown) => {
      if (error instanceof AgentUnavailable) return { text: null };
      throw error;
    });
    return JSON.parse(text ?? '[]') as JoinedRecipe[];
  };
}
