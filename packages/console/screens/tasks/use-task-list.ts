import { useEffect, useMemo } from 'react';
import { nowMs } from '../../data/clock.js';
import { hub } from '../../data/hub.js';
import { useStore } from '../../data/store.js';
import { TaskList } from '../../data/task-list.js';
import { liveEvents } from '../../live/live-cache.js';
import { filtersIn, hubFilterOf } from './filters.js';

/** The list that was shown last: on the way back from a task it is there at once, as far as it was scrolled. */
let latest: { readonly search: string; readonly list: TaskList } | undefined;

/** The list of tasks that match the filters of an address. */
export function useTaskList(search: string) {
  const list = useMemo(() => {
    if (latest?.search !== search) {
      const filter = hubFilterOf(filtersIn(search), nowMs());
      latest = { search, list: new TaskList(hub, liveEvents, filter) };
    }
    return latest.list;
  }, [search]);
  useEffect(() => list.open(), [list]);
  return { list, state: useStore(list.state) };
}
