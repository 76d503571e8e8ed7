/** Defects in durability: of transactions, blobs and the disk. */
import type { Breakage } from './breakage.js';
import { acknowledgedEarly, broken, onDisk, withoutHolds } from './wrappers.js';

export const DURABILITY_BREAKAGES: readonly Breakage[] = [
  {
    name: '201 before the task is durable',
    seed: 1,
    hub: acknowledgedEarly,
  },
  {
    name: 'a report is acknowledged before it is durable',
    seed: 2,
    hub: ({ queue }) => ({
      queue: {
        ...queue,
        end: (ended, freed) => {
          queue.end(ended, freed).catch(() => undefined);
          return Promise.resolve(ended.map(() => true));
        },
      },
    }),
  },
  {
    name: 'a large blob has its name before it is synced',
    seed: 2,
    contents: (options) =>
      onDisk(options, (disk) => ({
        ...disk,
        open: async (path, flags) => ({ ...(await disk.open(path, flags)), sync: () => Promise.resolve() }),
      })),
  },
  {
    name: 'the name of a large blob is not synced',
    seed: 2,
    contents: (options) => onDisk(options, (disk) => ({ ...disk, syncFolder: () => Promise.resolve() })),
  },
  {
    name: 'a blob is removed before the loss of its last reference is durable',
    seed: 18,
    hub: ({ names, files, runtime }) => {
      const soon = () => runtime.timers.after(1, () => void files.reclaim());
      return {
        names: {
          ...names,
          put: (stored, terms) => {
            soon();
            return names.put(stored, terms);
          },
          remove: (area, name) => {
            soon();
            return names.remove(area, name);
          },
        },
      };
    },
    contents: (options) => ({
      ...options,
      inline: {
        ...options.inline,
        removeUnreferenced: async (contents, isHeld) => {
          const held = contents.filter(isHeld);
          const unreferenced: (typeof contents)[number][] = [];
          for (const content of contents) {
            const named = await options.inline.referenced([content.digest], content.encrypted);
            if (named.size === 0 && !held.includes(content)) unreferenced.push(content);
          }
          // The small ones go with the next transaction, as they should.
          options.inline.removeUnreferenced(contents, isHeld).catch(() => undefined);
          return { held, unreferenced };
        },
      },
    }),
  },
  {
    name: 'a blob is removed while a task that needs it is being created',
    seed: 9,
    hub: ({ files }) => ({ files: withoutHolds(files) }),
  },
  {
    name: 'a blob without references is never removed',
    seed: 3,
    hub: ({ files }) => ({ files: broken(files, { reclaim: () => Promise.resolve() }) }),
  },
  {
    name: 'a sync to disk is left out',
    seed: 1,
    disk: (disk) => ({ ...disk, sync: () => Promise.resolve() }),
  },
  {
    name: 'data of a killed hub is shown before it is synced',
    seed: 38,
    disk: (disk) => {
      let isFirst = true;
      return {
        ...disk,
        sync: async () => {
          if (!isFirst) await disk.sync();
          isFirst = false;
        },
      };
    },
  },
  {
    name: 'a full disk is taken for success',
    seed: 1,
    hub: ({ queue }) => ({
      queue: { ...queue, insert: (tasks, waits) => queue.insert(tasks, waits).catch(() => undefined) },
    }),
  },
];
