import type { StudyItem } from '@workbench-hub/client';
import { Icon, type IconName } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const LOOKS: Readonly<Record<StudyItem['state'], readonly [className: string, icon: IconName]>> = {
  RUNNING: ['of-running', 'loader-circle'],
  PAUSED: ['of-waiting', 'pause'],
  STOPPED: ['of-canceled', 'circle-slash'],
  FINISHED: ['of-finished', 'circle-check'],
};

/** State of a study by icon, word and color. */
export function StudyState({ state }: Pick<StudyItem, 'state'>) {
  const words = useWords<typeof en>({ en, de });
  const [className, icon] = LOOKS[state];
  return (
    <span className={`status ${className}`}>
      <Icon name={icon} size={14} className={state === 'RUNNING' ? 'turning' : ''} />
      {words.states[state]}
    </span>
  );
}
