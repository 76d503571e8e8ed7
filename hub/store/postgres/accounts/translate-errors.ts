import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { storeError } from '../database-fault.js';

/** Runs work on the accounts. Rejects with HubError for a fault of the database, which is logged. */
export type Translated = <T>(work: () => Promise<T>) => Promise<T>;

/** `log` is null in commands, which print errors. */
export function translatedWith(log: Logger | null): Translated {
  return async (work) => {
    try {
      return await work();
    } catch (error) {
      const translated = storeError(error);
      if (translated === undefined) throw error;
      log?.error({ err: error }, 'the accounts in the database could not be used');
      throw translated;
    }
  };
}
