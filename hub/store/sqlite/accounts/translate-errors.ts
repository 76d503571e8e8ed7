import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { storeError } from '../store-error.js';

/** Runs work on the accounts database: what that refuses is logged, and becomes an error that a client may see. */
export type Translated = <T>(work: () => T) => Promise<T>;

/** Commands have no log: what goes wrong, they print. */
export function translatedWith(log: Logger | null): Translated {
  return async (work) => {
    try {
      return work();
    } catch (error) {
      const translated = storeError(error);
      if (translated === undefined) throw error;
      log?.error({ err: error }, 'the database of the accounts could not be used');
      throw translated;
    }
  };
}
