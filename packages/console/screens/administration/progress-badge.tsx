import type { api } from '@workbench-hub/client';
import { Icon, type IconName } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

type Progress = api.RolloutAgent['progress'];

/** Looks of the progress of agents; those that need somebody come first. */
const LOOKS: Readonly<Record<Progress, readonly [icon: IconName, colors: string]>> = {
  FAILED: ['circle-x', 'of-failed'],
  UNDER_WAY: ['loader-circle', 'of-running'],
  WAITING: ['clock', 'of-waiting'],
  OPEN: ['circle-dashed', 'of-canceled'],
  PASSED_OVER: ['circle-x', 'of-waiting'],
  UNABLE: ['ban', 'of-canceled'],
  UNKNOWN: ['unplug', 'of-canceled'],
  DONE: ['circle-check', 'of-finished'],
};

/** Progress in the order in which somebody is needed. */
export const PROGRESS_ORDER = Object.keys(LOOKS);

interface ProgressBadgeProps {
  readonly progress: Progress;
}

/** The progress of an agent's update. */
export function ProgressBadge({ progress }: ProgressBadgeProps) {
  const words = useWords<typeof en>({ en, de }).rollout;
  const [icon, colors] = LOOKS[progress];
  return (
    <span className={`status ${colors}`}>
      <Icon name={icon} size={14} className={progress === 'UNDER_WAY' ? 'turning' : ''} />
      {words.progress[progress]}
    </span>
  );
}
