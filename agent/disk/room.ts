/** Working directories that are made before their job is known, `work/room-<random>/` with the folders in which the job may
 *  write. A program in a sandbox sees no other. */
import { mkdirSync, mkdtempSync, realpathSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Room } from '../core/ports/workspace.js';

export const FILES = 'files';
export const OUTPUT_STORAGE = 'output-storage';
/** Scripts and variables; in an ordinary directory they lie beside the two others. */
export const GIVEN = 'given';

interface DiskRoom extends Room {
  /** Takes it for an attempt; false when it is taken already, or gone. */
  take(): boolean;
}

/** The rooms that this process has made, so that what is taken is taken once. */
const rooms = new WeakMap<Room, DiskRoom>();

/** Makes a room below `root`, which is made again if somebody has taken it away. Throws the system's error. At once, since
 *  a program is started at once. */
export function makeRoom(root: string): Room {
  mkdirSync(root, { recursive: true });
  // As programs are told of it: without links.
  const path = mkdtempSync(join(realpathSync.native(root), 'room-'));
  const writable = [FILES, OUTPUT_STORAGE, GIVEN].map((name) => join(path, name));
  for (const folder of writable) mkdirSync(folder);
  let isFree = true;
  const room: DiskRoom = {
    path,
    writable,
    take: () => {
      const wasFree = isFree;
      isFree = false;
      return wasFree;
    },
    abandon: async () => {
      // Whatever cannot be removed is removed at the next start.
      if (room.take()) await rm(path, { recursive: true, force: true }).catch(() => undefined);
    },
  };
  rooms.set(room, room);
  return room;
}

/** Takes a room for an attempt; false when it is gone. */
export function takeRoom(room: Room): boolean {
  return rooms.get(room)?.take() ?? false;
}
