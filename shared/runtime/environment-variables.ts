/** An environment with further variables, which take the place of those of the same name: on Windows, whatever the case of its letters. */
export function withVariables<Value extends string | undefined>(
  environment: Readonly<Record<string, Value>>,
  added: Readonly<Record<string, Value>>,
  platform: NodeJS.Platform = process.platform,
): Record<string, Value> {
  if (platform !== 'win32') return { ...environment, ...added };
  // Node.js keeps the first by order when two names differ in case only.
  const replaced = new Set(Object.keys(added).map((name) => name.toUpperCase()));
  const kept = Object.entries(environment).filter(([name]) => !replaced.has(name.toUpperCase()));
  return { ...Object.fromEntries(kept), ...added };
}
