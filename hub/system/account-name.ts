import os from 'node:os';

/** Account of the operating system; an id without a name is shown as a number. */
export function accountName(): string {
  try {
    return os.userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
