/** Other hubs with the same blobs, which are asked what they hold. */
import { HubError } from '../../core/errors.js';
import type { OtherHolders } from '../../core/ports/blobs.js';
import type { Hubs } from '../../core/ports/hubs.js';
import { AgentUnavailable, type Relay } from '../../core/ports/relay.js';

export interface OtherHoldersOptions {
  readonly hubs: Pick<Hubs, 'ownId' | 'others' | 'all'>;
  readonly relay: Pick<Relay, 'askHub' | 'serveHub'>;
}

/** Limit for all replies: requests may wait for the removal. */
const TIMEOUT_MS = 2000;

export function otherHolders({ hubs, relay }: OtherHoldersOptions): OtherHolders {
  let wasAsked = false;
  const askOthers = async (names: readonly string[]): Promise<ReadonlySet<string> | null> => {
    const others = (await hubs.all()).filter(({ id }) => id !== hubs.ownId);
    if (others.some(({ isLive }) => !isLive)) return null;
    const held = others.map(async ({ id }) => {
      const { text } = await relay.askHub(id, { kind: 'heldBlobs', names }, TIMEOUT_MS);
      return JSON.parse(text ?? '[]') as string[];
    });
    return new Set((await Promise.all(held)).flat());
  };
  return {
    isShared: () => wasAsked || hubs.others() > 0,
    heldOf: async (names) => {
      try {
        return await askOthers(names);
      } catch (error) {
        if (error instanceof AgentUnavailable || error instanceof HubError) return null;
        throw error;
      }
    },
    serve: (heldOf) =>
      relay.serveHub('heldBlobs', async ({ names }) => {
        wasAsked = true;
        return { error: null, text: JSON.stringify(heldOf(names)) };
      }),
  };
}
