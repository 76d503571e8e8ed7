import { Icon, type IconName } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import type { PointState } from './points.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const LOOKS: Readonly<Record<PointState, readonly [className: string, icon: IconName]>> = {
  FINISHED: ['of-finished', 'circle-check'],
  SOLVER_FAILED: ['of-failed', 'circle-x'],
  RULE_FAILED: ['of-failed', 'triangle-exclamation-point'],
  INFRASTRUCTURE: ['of-failed', 'unplug'],
  CANCELED: ['of-canceled', 'circle-slash'],
  REUSED: ['of-finished', 'copy'],
  OPEN: ['of-running', 'loader-circle'],
};

/** Class that gives the colors of an outcome to what is in it. */
export function outcomeClass(state: PointState): string {
  return LOOKS[state][0];
}

/** Outcome of a point by icon, word and color. */
export function OutcomeBadge({ state }: { readonly state: PointState }) {
  const words = useWords<typeof en>({ en, de });
  const [className, icon] = LOOKS[state];
  return (
    <span className={`status plain ${className}`}>
      <Icon name={icon} size={14} className={state === 'OPEN' ? 'turning' : ''} />
      {words.outcomes[state]}
    </span>
  );
}
