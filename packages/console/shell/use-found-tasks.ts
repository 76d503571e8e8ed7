import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { TaskItem } from '@workbench-hub/client';
import { useEffect, useState } from 'react';
import { hub } from '../data/hub.js';
import { nameOrIdOf } from '../screens/tasks/filters.js';

/** Time without a key press after which the hub is asked. */
const TYPING_MS = 120;
/** Texts that are shorter match too much. */
const MIN_LENGTH = 2;
const MAX_FOUND = 8;

export interface FoundTasks {
  readonly tasks: readonly TaskItem[];
  readonly isSearching: boolean;
}

/** The newest tasks whose name contains the text, or whose id it is. */
export function useFoundTasks(text: string): FoundTasks {
  const wanted = useLater(text);
  const isEnabled = wanted.length >= MIN_LENGTH;
  const filter = nameOrIdOf(wanted);
  const { data, isFetching } = useQuery({
    queryKey: ['palette', filter],
    queryFn: ({ signal }) => hub.window(filter, { limit: MAX_FOUND }, signal),
    enabled: isEnabled,
    placeholderData: keepPreviousData,
    retry: false,
  });
  return {
    tasks: isEnabled && text !== '' ? (data?.tasks ?? []) : [],
    isSearching: text !== wanted || (isEnabled && isFetching),
  };
}

/** The text, when it has not changed for a while. */
function useLater(text: string): string {
  const [later, setLater] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setLater(text), TYPING_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return later;
}
