import type { TaskItem, WorkbenchInstance } from '@workbench-hub/client';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import type { HostActions } from './use-host-actions.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

interface InstanceCommandsProps {
  readonly instance: WorkbenchInstance;
  readonly task: TaskItem | undefined;
  readonly actions: HostActions;
  /** Whether the buttons have words beside their icons. */
  readonly hasWords?: boolean;
}

/** Buttons that start, restart and stop an instance, as far as its status lets them matter. */
export function InstanceCommands({ instance, task, actions, hasWords = false }: InstanceCommandsProps) {
  const words = useWords<typeof en>({ en, de });
  const { id, status } = instance;
  const isStopped = status === 'DOWN' || status === 'STOPPING';
  const button = (command: 'start' | 'stop' | 'restart', icon: 'play' | 'ban' | 'rotate-ccw') => (
    <button
      type="button"
      className={`button ${hasWords ? '' : 'plain only-icon'}`}
      aria-label={`${words[command]}: ${id}`}
      title={words[command]}
      disabled={status === 'UNKNOWN'}
      onClick={() => actions.command(command, instance, task)}
    >
      <Icon name={icon} />
      {hasWords && words[command]}
    </button>
  );
  return (
    <span className="instance-commands">
      {isStopped ? button('start', 'play') : button('restart', 'rotate-ccw')}
      {!isStopped && button('stop', 'ban')}
    </span>
  );
}
