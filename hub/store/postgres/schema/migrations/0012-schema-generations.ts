/** The schema generation of each hub. */
export const schemaGenerations = {
  id: '0012-schema-generations',
  phase: 'expand',
  sql: 'ALTER TABLE hub ADD COLUMN generation INTEGER NOT NULL DEFAULT 1;',
} as const;
