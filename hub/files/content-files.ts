/** The files of contents as tools see them that look at the folder of a store from outside. */
import { join } from 'node:path';
import { systemDisk } from './content-disk.js';
import {
  contentPath,
  folderOfName,
  formerSealedName,
  isFormerSealedName,
  isSealedName,
  SealedNames,
} from './content-name.js';
import { fileOfAnotherKey, prefixesIn } from './sealed-contents.js';

interface Content {
  readonly digest: string;
  readonly encrypted: boolean;
}

/** Paths below the folder under which the file of a content may lie, the likeliest first. Without the key of encrypted contents
 *  it may lie anywhere. */
export function pathsOf(content: Content, key: Buffer | null): string[] {
  const former = content.encrypted ? [formerSealedName(content.digest)] : [];
  const now = contentPath(content, key && new SealedNames(key));
  return [...(now === undefined ? [] : [now]), ...former.map((name) => `${folderOfName(name)}/${name}`)];
}

/** The paths of all encrypted contents below the folder, named or not. */
export async function sealedFilesIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const prefix of await prefixesIn(folder, systemDisk)) {
    for (const name of await systemDisk.list(join(folder, prefix))) {
      if (isSealedName(name) || isFormerSealedName(name)) found.push(`${prefix}/${name}`);
    }
  }
  return found;
}

/** Whether it can be told of every encrypted content where its file is: with the key with which all of them were written. */
export async function areSealedKnown(folder: string, key: Buffer | null): Promise<boolean> {
  return key !== null && (await fileOfAnotherKey(folder, key, systemDisk)) === undefined;
}
