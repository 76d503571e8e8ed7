/** Names of programs, and where they are looked for, as systems differ in them. */

/** Endings of programs where Windows does not say it. */
const ENDINGS = '.COM;.EXE;.BAT;.CMD';

/** Names of the files that a program of this name may have: on Windows, those with the endings of programs (PATHEXT). */
export function namesOfProgram(
  name: string,
  endings: string = ENDINGS,
  platform: NodeJS.Platform = process.platform,
): string[] {
  if (platform !== 'win32') return [name];
  const all = endings.toLowerCase().split(';').filter(Boolean);
  const hasEnding = all.some((ending) => name.toLowerCase().endsWith(ending));
  return hasEnding ? [name] : all.map((ending) => `${name}${ending}`);
}

/** Search path in an environment, whose names Windows does not distinguish by case: there it is `Path`. */
export function pathOf(
  environment: Readonly<Record<string, string | undefined>>,
  platform: NodeJS.Platform = process.platform,
): string {
  const name = platform === 'win32' ? Object.keys(environment).find((each) => /^path$/i.test(each)) : 'PATH';
  return environment[name ?? 'PATH'] ?? '';
}
