import { isDeepStrictEqual } from 'node:util';

/** Paths of the keys whose values differ, such as `server.port`; a list or a missing group counts as one value. */
export function changedKeys(before: unknown, after: unknown, path: readonly string[] = []): string[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (!isGroup(before) || !isGroup(after)) return [path.join('.')];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) => changedKeys(before[name], after[name], [...path, name]));
}

function isGroup(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
