import type { TaskItem } from '@workbench-hub/client';
import { Link } from 'wouter';
import { useTaskName } from '../words/task-name.js';
import { StatusBadge } from './status.js';
import { Time } from './time.js';

interface TaskLinksProps {
  readonly tasks: readonly TaskItem[];
  readonly label?: string;
}

/** A short list of tasks that leads to them. */
export function TaskLinks({ tasks, label }: TaskLinksProps) {
  const nameOf = useTaskName();
  return (
    <ul className="task-links" aria-label={label}>
      {tasks.map((task) => (
        <li key={task.id}>
          <StatusBadge status={task.status} isPlain />
          <Link href={`/tasks/${task.id}`}>{nameOf(task)}</Link>
          <span className="faint">
            <Time at={task.requestedAt} />
          </span>
        </li>
      ))}
    </ul>
  );
}
