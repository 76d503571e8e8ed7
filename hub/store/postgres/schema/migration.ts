/** Migrations of the schema on PostgreSQL, and the schema generations that they belong to. Hubs of neighboring generations work on one
 *  database. */

/** In their order within a generation. */
const PHASES = ['expand', 'backfill', 'contract'] as const;

export type MigrationPhase = (typeof PHASES)[number];

export interface Migration {
  /** Four digits and a name, such as `0100-accounts`. */
  readonly id: string;
  /**
   * - `expand` adds what hubs of the former generation can live with.
   * - `backfill` fills what was added in older rows. Its one statement changes some of them, and is repeated until it changes none.
   * - `contract` removes what only the former generation needed. It also treats rows that a backfill has missed.
   */
  readonly phase: MigrationPhase;
  /** Schema generation; each release with migrations begins one. 1 by default. */
  readonly generation?: number;
  /** Statements, separated by semicolons, that are applied in one transaction. */
  readonly sql: string;
}

export function generationOf({ generation = 1 }: Pick<Migration, 'generation'>): number {
  return generation;
}

/** The generation of a hub with these migrations. */
export function newestGeneration(migrations: readonly Migration[]): number {
  return Math.max(1, ...migrations.map(generationOf));
}

/** By generation, phase and id. */
export function inOrder(migrations: readonly Migration[]): Migration[] {
  return [...migrations].sort(
    (a, b) =>
      generationOf(a) - generationOf(b) ||
      PHASES.indexOf(a.phase) - PHASES.indexOf(b.phase) ||
      (a.id < b.id ? -1 : 1),
  );
}

/** Whether a migration waits until no hub of an earlier generation lives. */
export function isAfterHubs({ phase }: Pick<Migration, 'phase'>): boolean {
  return phase !== 'expand';
}
