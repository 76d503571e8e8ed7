import type { TaskItem } from '@workbench-hub/client';
import { Icon, type IconName } from '../icons/icon.js';
import { useCommonWords } from '../words/common.js';

type Status = TaskItem['status'];

const ICONS: Readonly<Record<Status, IconName>> = {
  WAITING: 'clock',
  RUNNING: 'loader-circle',
  FINISHED: 'circle-check',
  FAILED: 'circle-x',
  CANCELED: 'circle-slash',
};

/** Class that gives the colors of a status to what is in it. */
export function statusClass(status: Status): string {
  return `of-${status.toLowerCase()}`;
}

/** Status of a task by icon, word and color. */
export function StatusBadge({
  status,
  isPlain = false,
}: {
  readonly status: Status;
  readonly isPlain?: boolean;
}) {
  const words = useCommonWords();
  return (
    <span className={`status ${isPlain ? 'plain' : ''} ${statusClass(status)}`}>
      <Icon name={ICONS[status]} size={14} className={status === 'RUNNING' ? 'turning' : ''} />
      {words.status[status]}
    </span>
  );
}
