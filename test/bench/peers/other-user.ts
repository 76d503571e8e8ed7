/** Servers that refuse to run as root: they get another user, and a way to their folder. */
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export interface OtherUser {
  readonly uid?: number;
  readonly gid?: number;
}

/** This user instead of root; other users stay the same. */
export function instead(username: string): OtherUser {
  if (process.getuid?.() !== 0) return {};
  const id = (what: string) => Number(execFileSync('id', [what, username], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/** Gives a folder below that of temporary files to that user, with the way to it. */
export function give(folder: string, { uid, gid }: OtherUser): void {
  if (uid === undefined || gid === undefined) return;
  chownSync(folder, uid, gid);
  for (let parent = dirname(folder); parent.startsWith(join(tmpdir(), '/')); parent = dirname(parent))
    chmodSync(parent, 0o755);
}
