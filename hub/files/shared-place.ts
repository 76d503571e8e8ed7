import type { SharedPlace } from '../core/ports/blobs.js';
import { folderMark } from './folder-mark.js';
import type { PlaceSettings } from './open-place.js';
import { locationOf } from './s3/s3-settings.js';

/** The configured place; null for the folder in `dataDir`, which is one hub's own. Rejects with `StartRefused` when a folder cannot be
 *  used. */
export async function sharedPlaceOf({ folder, s3 }: PlaceSettings): Promise<SharedPlace | null> {
  if (s3 !== null) return { id: locationOf(s3), text: locationOf(s3) };
  return folder === null ? null : { id: await folderMark(folder), text: `the folder ${folder}` };
}
