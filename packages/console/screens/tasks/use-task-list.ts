import { useEffect, useMemo } from 'react';
import { nowMs } from '../../data/clock.js';
import { hub } from '../../data/hub.js';
import { useStore } from '../../data/store.js';
import { TaskList } from '../../data/task-list.js';
import { liveEvents } from '../../live/live-cache.js';
import { filtersIn, hubFilterOf } from './filters.js';

/** The list of tasks that match the filters of an address. */
export function useTaskList(search: string) {
  const list = useMemo(
    () => new TaskList(hub, liveEvents, hubFilterOf(filtersIn(search), nowMs())),
    [search],
  );
  useEffect(() => list.open(), [list]);
  return { list, state: useStore(list.state) };
}
