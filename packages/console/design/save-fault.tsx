import type { Saving } from '../base/use-saving.js';
import { Refusal } from './refusal.js';

/** Why a file could not be saved; nothing while all is well. */
export function SaveFault({ saving: { fault } }: { readonly saving: Saving }) {
  return fault ? <Refusal words={`${fault.name}:`} error={fault.error} /> : null;
}
