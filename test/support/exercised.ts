/** Keeps which endpoints the tests of a file called, and what they answered, for the table at the end of the run. */
import { afterAll } from 'vitest';
import { type OpenApiDocument, templateOf } from './openapi-check.js';

export interface Exercised {
  /** Every operation that the documents of the hubs under test name: `GET /livez`. */
  readonly operations: string[];
  /** Operation to status to how often it was seen. */
  readonly answers: Record<string, Record<number, number>>;
}

declare module 'vitest' {
  interface TaskMeta {
    exercised?: Exercised;
  }
}

const answers: Record<string, Record<number, number>> = {};
const documents = new Map<OpenApiDocument, string[]>();

/** Counts an answer of a hub with this document, under the operation that is given back. What the document does not name
 *  is not counted. */
export function countAnswer(
  document: OpenApiDocument,
  { method, path, status }: { method: string; path: string; status: number },
): string | undefined {
  if (!documents.has(document)) documents.set(document, operationsOf(document));
  const template = templateOf(document, path);
  if (!template || !document.paths[template]?.[method.toLowerCase()]) return undefined;
  const operation = `${method.toUpperCase()} ${template}`;
  answers[operation] ??= {};
  answers[operation][status] = (answers[operation][status] ?? 0) + 1;
  return operation;
}

/** Every operation of the document, as `GET /livez`. */
export function operationsOf(document: OpenApiDocument): string[] {
  return Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
}

// The suite that is being collected when this file is imported is the file of the test.
// biome-ignore lint/correctness/noEmptyPattern: vitest insists on a pattern here
afterAll(({}, file) => {
  file.meta.exercised = { operations: [...new Set([...documents.values()].flat())], answers };
});
