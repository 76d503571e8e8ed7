/** The tasks whose end is written and not yet synced, by id: nobody is shown a result that may still be lost. */
export type Endings = Map<string, Promise<unknown>>;
