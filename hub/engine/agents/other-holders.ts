/** Other hubs with the same blobs, which are asked by mail what they hold. */
import { HubError } from '../../core/errors.js';
import type { OtherHolders } from '../../core/ports/blobs.js';
import type { Hubs } from '../../core/ports/hubs.js';
import { AgentUnavailable, type Mail } from '../../core/ports/mail.js';

export interface OtherHoldersOptions {
  readonly hubs: Pick<Hubs, 'ownId' | 'others' | 'all'>;
  readonly mail: Pick<Mail, 'askHub' | 'serveHub'>;
}

/** Limit for all replies: requests may wait for the removal. */
const TIMEOUT_MS = 2000;

export function otherHolders({ hubs, mail }: OtherHoldersOptions): OtherHolders {
  let wasAsked = false;
  const askOthers = async (names: readonly string[]): Promise<ReadonlySet<string> | null> => {
    const others = (await hubs.all()).filter(({ id }) => id !== hubs.ownId);
    if (others.some(({ isLive }) => !isLive)) return null;
    const held = others.map(async ({ id }) => {
      const { text } = await mail.askHub(id, { kind: 'heldBlobs', names }, TIMEOUT_MS);
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
      mail.serveHub('heldBlobs', async ({ names }) => {
        wasAsked = true;
        return { error: null, text: JSON.stringify(heldOf(names)) };
      }),
  };
}
