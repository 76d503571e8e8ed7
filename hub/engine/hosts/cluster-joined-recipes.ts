/** Recipes of the hubs that have joined, as any hub of a cluster sees them: the one with the role of the scheduler is asked. */
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
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
  readonly clock: Clock;
}

export interface ClusterJoinedRecipes {
  /** None while the hub that knows them cannot be asked. Rejects as the store does. */
  all(): Promise<readonly JoinedRecipe[]>;
  /** The same from memory, which may be a minute old; asks for newer ones when it is. */
  known(): readonly JoinedRecipe[];
}

const TIMEOUT_MS = 5000;
/** Age at which newer recipes are asked for, and at which they count no more. */
const OLD_MS = 10_000;
const TOO_OLD_MS = 60_000;
const LOOK_MS = 1000;

export function clusterJoinedRecipes(options: ClusterJoinedRecipesOptions): ClusterJoinedRecipes {
  const { joined, instances, hubs, relay, clock } = options;
  relay.serveHub('joinedRecipes', async () => ({ error: null, text: JSON.stringify(joined.all()) }));
  let latest: readonly JoinedRecipe[] = [];
  let readAtMs = Number.NEGATIVE_INFINITY;
  let askedAtMs = Number.NEGATIVE_INFINITY;
  let haveJoined = false;
  let lookedAtMs = Number.NEGATIVE_INFINITY;
  /** Whether hubs have joined that bring hosts, as of the last second: it is asked for each task of a list. */
  const haveHubsJoined = () => {
    if (clock.monotonicMs() - lookedAtMs >= LOOK_MS) {
      lookedAtMs = clock.monotonicMs();
      haveJoined = instances.agents().some(({ hub }) => hub?.bringsHosts);
    }
    return haveJoined;
  };
  const isElsewhere = () => hubs.others() > 0 && joined.all().length === 0 && haveHubsJoined();
  const read = async () => {
    askedAtMs = clock.monotonicMs();
    const scheduler = (await hubs.all()).find(({ isScheduler, isLive }) => isScheduler && isLive);
    if (!scheduler || scheduler.id === hubs.ownId) return [];
    const asked = relay.askHub(scheduler.id, { kind: 'joinedRecipes' }, TIMEOUT_MS);
    const { text } = await asked.catch((error: unknown) => {
      if (error instanceof AgentUnavailable) return { text: null };
      throw error;
    });
    latest = JSON.parse(text ?? '[]') as JoinedRecipe[];
    readAtMs = clock.monotonicMs();
    return latest;
  };
  return {
    all: async () => (isElsewhere() ? read() : joined.all()),
    known: () => {
      if (!isElsewhere()) return joined.all();
      const nowMs = clock.monotonicMs();
      // An explanation that asks the same tells its reader what fails.
      if (nowMs - askedAtMs > OLD_MS) void read().catch(() => undefined);
      return nowMs - readAtMs > TOO_OLD_MS ? [] : latest;
    },
  };
}
