/** The stream of changes of this tab, and the tasks in the cache that it keeps up to date. */
import type { TaskDetails } from '@workbench-hub/client';
import { hub, session } from './hub.js';
import { LiveEvents } from './live-events.js';
import { askAgain, queryClient } from './query-client.js';

/** Shortest time between two requests for the details of a task that changes. */
const REFRESH_MS = 1000;

export const liveEvents = new LiveEvents(hub);

/** Key of a task in the cache; with more parts, of what belongs to it. */
export function taskKey(id: string, ...parts: string[]): readonly string[] {
  return ['task', id, ...parts];
}

/** Begins once somebody is logged in. */
export function startLive(): void {
  const begin = () => {
    if (session.state.get().status !== 'open') return;
    stop();
    liveEvents.start();
  };
  const stop = session.state.subscribe(begin);
  begin();
}

const waiting = new Set<string>();

/** Has the cache ask for the details again, soon. */
function refreshSoon(id: string): void {
  if (waiting.has(id)) return;
  waiting.add(id);
  setTimeout(() => {
    waiting.delete(id);
    void askAgain({ queryKey: taskKey(id) });
  }, REFRESH_MS / 4);
}

liveEvents.onEvents((events) => {
  for (const event of events) {
    const id = event.type === 'task' ? event.task.id : event.id;
    if (queryClient.getQueryState(taskKey(id)) === undefined) continue;
    const known = queryClient.getQueryData<TaskDetails>(taskKey(id));
    // The event shows at once; attempts and outputs come with the next response.
    if (known !== undefined && event.type === 'task')
      queryClient.setQueryData<TaskDetails>(taskKey(id), { ...known, ...event.task });
    refreshSoon(id);
  }
});
liveEvents.onReset(() => void askAgain());
