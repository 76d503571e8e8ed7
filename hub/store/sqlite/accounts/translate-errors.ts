import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { storeError } from '../connection/store-error.js';

/** Runs work on the accounts database. Rejects with HubError for an error of the database, which is logged. */
export type Translated = <T>(work: () => T) => Promise<T>;

/** `log` is null in commands, which print errors. */
export function translatedWith(log: Logger | null): Translated {
  return async (work) => {
    try {
      return work();
    } catch (error) {
      const translated = storeError(error);
      if (translated === undefined) throw error;
      log?.error({ err: error }, 'the accounts database could not be used');
      throw translated;
    }
  };
}
