/** Counts the responses of each endpoint that the tests of a file called, for the table at the end of the run. */
import type { OpenApiDocument } from './openapi-document.js';
import { templateOf } from './openapi-document.js';

export interface Exercised {
  /** All operations in the documents of the tested hubs: `GET /livez`. */
  readonly operations: string[];
  /** Responses counted by operation and status. */
  readonly answers: Record<string, Record<number, number>>;
}

declare module 'vitest' {
  interface TaskMeta {
    exercised?: Exercised;
  }
}

let answers: Record<string, Record<number, number>> = {};
const documents = new Map<OpenApiDocument, string[]>();

/** Counts a response under its operation, and returns the operation; undefined for one that the document does not name. */
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

/** The counts since the last call; undefined when no hub was called. */
export function takeExercised(): Exercised | undefined {
  if (documents.size === 0) return undefined;
  const exercised = { operations: [...new Set([...documents.values()].flat())], answers };
  documents.clear();
  answers = {};
  return exercised;
}
