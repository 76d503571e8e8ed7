/** Ids of tasks as people give them: whole, or the part that a list shows. */
import { type Hub, NotFoundError } from '@workbench-hub/client';
import { UsageError } from './exit-codes.js';

const WHOLE = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const PART = /^[0-9a-f][0-9a-f-]{3,34}$/i;
/** Tasks that are named when a part is that of several. */
const SHOWN = 4;

/** The id of the one task whose id begins or ends with a part. Throws {@link UsageError} when there are several. */
export async function wholeId(hub: Hub, given: string): Promise<string> {
  const part = given.replace(/^(?:\.\.\.|…)|(?:\.\.\.|…)$/g, '').toLowerCase();
  if (WHOLE.test(given) || !PART.test(part)) return given;
  for (const pattern of [`${part}*`, `*${part}`]) {
    const ids = await matching(hub, pattern);
    if (ids.length > 1) {
      const shown = ids.slice(0, SHOWN).join(', ');
      throw new UsageError(`${given} is a part of the ids of several tasks: ${shown}; give more of it`);
    }
    if (ids[0] !== undefined) return ids[0];
  }
  return given;
}

async function matching(hub: Hub, id: string): Promise<readonly string[]> {
  try {
    return (await hub.window({ id }, { limit: SHOWN })).tasks.map((task) => task.id);
  } catch (error) {
    // A hub that is older has no such list.
    if (error instanceof NotFoundError) return [];
    throw error;
  }
}
