/** Files of the storage, as far as they were asked for. */
import {
  type InfiniteData,
  keepPreviousData,
  type UseInfiniteQueryResult,
  useInfiniteQuery,
} from '@tanstack/react-query';
import { api } from '@workbench-hub/client';
import { type DragEvent as ReactDragEvent, useEffect, useState } from 'react';
import { hub, session } from '../../data/hub.js';
import { queryClient } from '../../data/query-client.js';
import { useStore } from '../../data/store.js';
import { sendFile } from './send-file.js';
import { Uploads } from './uploads.js';

const WINDOW = 200;
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
  return queryClient.invalidateQueries({ queryKey: [KEY] });
}

/** Outlives the screen, so that uploads go on while the reader looks elsewhere. */
const uploads = new Uploads(sendFile, () => void refreshStorage());

// Names of files of another user are nobody's business.
session.state.subscribe(() => {
  const state = session.state.get();
  if (state.status === 'ended' && state.person === undefined) uploads.clear();
});

export function useUploads() {
  return { uploads, list: useStore(uploads.state) };
}

/** Keeps a file that misses the place to drop it from taking the place of the page. */
export function useNoNavigationByDrop(): void {
  useEffect(() => {
    const refuse = (event: DragEvent) => event.preventDefault();
    window.addEventListener('dragover', refuse);
    window.addEventListener('drop', refuse);
    return () => {
      window.removeEventListener('dragover', refuse);
      window.removeEventListener('drop', refuse);
    };
  }, []);
}

/** Whether files are dragged over an element, with the handlers that it needs. */
export function useDrop(onFiles: (files: readonly File[]) => void) {
  const [isOver, setOver] = useState(false);
  return {
    isOver,
    handlers: {
      onDragOver: (event: ReactDragEvent) => {
        if (!event.dataTransfer.types.includes('Files')) return;
        event.preventDefault();
        setOver(true);
      },
      onDragLeave: (event: ReactDragEvent) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false);
      },
      onDrop: (event: ReactDragEvent) => {
        event.preventDefault();
        setOver(false);
        onFiles([...event.dataTransfer.files]);
      },
    },
  };
}
