/** Studies by what users call them. */
import type { Hub, Study } from '@workbench-hub/client';
import { UsageError } from './exit-codes.js';

const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The study with this id, or the newest with this name. Throws {@link UsageError} when there is none of this name. */
export async function studyNamed(hub: Hub, given: string): Promise<Study> {
  if (ID.test(given)) return hub.study(given);
  for await (const { id } of hub.studies({ name: given })) return hub.study(id);
  throw new UsageError(`there is no study with the name ${given}; wb study ls lists them`);
}
