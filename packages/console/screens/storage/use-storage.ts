/** Files of the storage, as far as they were asked for. */
import {
  type InfiniteData,
  keepPreviousData,
  type UseInfiniteQueryResult,
  useInfiniteQuery,
} from '@tanstack/react-query';
import { api } from '@workbench-hub/client';
import { type DragEvent, useState } from 'react';
import { useStore } from '../../base/store.js';
import { hub, session } from '../../data/hub.js';
import { askAgain } from '../../data/query-client.js';
import { onOtherPerson } from '../../session/other-person.js';
import { sendFile } from './send-file.js';
import { Uploads } from './uploads.js';

const WINDOW = 200;
/** Time after which the files are asked for again: others upload, too. More windows take as many requests. */
const EVERY_MS = 1000;
const MANY_WINDOWS_EVERY_MS = 10_000;
const KEY = 'storage';

export type Area = 'input' | 'output';

export interface StorageFilter {
  readonly prefix: string;
  readonly owner: string;
}

type Files = InfiniteData<api.StoredFiles, string | undefined>;

/** Files by name, a window at a time. */
export function useStorage(area: Area, { prefix, owner }: StorageFilter): UseInfiniteQueryResult<Files> {
  const list = area === 'input' ? api.listInputFiles : api.listOutputFiles;
  return useInfiniteQuery({
    queryKey: [KEY, area, prefix, owner],
    placeholderData: (before, query) => (query?.queryKey[1] === area ? keepPreviousData(before) : undefined),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }: api.StoredFiles) => next,
    refetchInterval: ({ state: { data } }) =>
      (data?.pages.length ?? 0) > 1 ? MANY_WINDOWS_EVERY_MS : EVERY_MS,
    queryFn: async ({ pageParam, signal }) => {
      const query = {
        limit: WINDOW,
        ...(prefix === '' ? {} : { prefix }),
        ...(owner === '' ? {} : { owner }),
        ...(pageParam === undefined ? {} : { after: pageParam }),
      };
      return (await list({ client: hub.client, query, signal, throwOnError: true })).data;
    },
  });
}

export function refreshStorage(): Promise<void> {
  return askAgain({ queryKey: [KEY] });
}

/** Outlives the screen, so that uploads go on while the reader looks elsewhere. */
const uploads = new Uploads(sendFile, () => void refreshStorage());

// Files of one user are not stored as those of the next one, whom their names do not concern either.
onOtherPerson(session.state, () => uploads.giveUp());

export function useUploads() {
  return { uploads, list: useStore(uploads.state) };
}

/** Whether files are dragged over an element, with the handlers that it needs. */
export function useDrop(onFiles: (files: readonly File[]) => void) {
  const [isOver, setOver] = useState(false);
  return {
    isOver,
    handlers: {
      onDragOver: (event: DragEvent) => {
        if (!event.dataTransfer.types.includes('Files')) return;
        event.preventDefault();
        setOver(true);
      },
      onDragLeave: (event: DragEvent) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false);
      },
      onDrop: (event: DragEvent) => {
        event.preventDefault();
        setOver(false);
        onFiles([...event.dataTransfer.files]);
      },
    },
  };
}
