/** The row of a task in the table of texts that lists search. */

import type { NewTask } from '../../../core/task.js';
import { foldedName } from '../../../core/task-filter.js';
import { searchable } from '../../rows/searchable-text.js';
import { lastingKindOf } from '../../rows/task-kinds.js';

export function taskTextOf({
  id,
  type,
  priority,
  name,
  creator,
}: Pick<NewTask, 'id' | 'type' | 'priority' | 'name' | 'creator'>) {
  return {
    lastingKind: lastingKindOf(type, priority),
    id: searchable(id),
    name: name === null ? null : searchable(foldedName(name)),
    creator: creator === null ? null : searchable(creator),
  };
}
