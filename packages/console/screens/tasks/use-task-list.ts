import { useEffect, useMemo, useRef } from 'react';
import { nowMs } from '../../base/clock.js';
import { useStore } from '../../base/store.js';
import { hub } from '../../data/hub.js';
import { liveEvents } from '../../data/live-cache.js';
import { TaskList } from '../../data/task-list.js';
import { filtersIn, hubFilterOf } from './filters.js';

/** The list that was shown last: on the way back from a task it is there at once, as far as it was scrolled. */
let latest: { readonly search: string; readonly list: TaskList } | undefined;

/** The list of tasks that match the filters of an address. Until its first response, `shown` is what was shown before. */
export function useTaskList(search: string) {
  const list = useMemo(() => {
    if (latest?.search !== search) {
      const filters = filtersIn(search);
      latest = { search, list: new TaskList(hub, liveEvents, () => hubFilterOf(filters, nowMs())) };
    }
    return latest.list;
  }, [search]);
  useEffect(() => list.open(), [list]);
  const state = useStore(list.state);
  const isLoaded = state.total !== undefined || state.error !== undefined;
  const before = useRef(state);
  if (isLoaded) before.current = state;
  return { list, shown: before.current, isOld: !isLoaded && before.current.total !== undefined };
}
