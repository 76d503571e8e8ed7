import { useState } from 'react';
import { saveResponse } from './save.js';

export interface Saving {
  /** Name of the file that is on its way; undefined for none. */
  readonly saving: string | undefined;
  /** Why the last file could not be saved. */
  readonly fault: { readonly name: string; readonly error: Error } | undefined;
  /** Saves what is fetched under the last part of the name. Never rejects. */
  save(name: string, fetch: () => Promise<Response>): Promise<void>;
}

/** Downloads that say when they fail. */
export function useSaving(): Saving {
  const [saving, setSaving] = useState<string>();
  const [fault, setFault] = useState<Saving['fault']>();
  const save = async (name: string, fetch: () => Promise<Response>) => {
    setFault(undefined);
    setSaving(name);
    try {
      await saveResponse(await fetch(), name);
    } catch (error) {
      setFault({ name, error: error instanceof Error ? error : new Error(String(error)) });
    }
    setSaving(undefined);
  };
  return { saving, fault, save };
}
