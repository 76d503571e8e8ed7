import { Icon, type IconName } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import type { InstanceState } from './instance-list.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const LOOKS: Readonly<Record<InstanceState, { readonly icon: IconName; readonly colors: string }>> = {
  WORKING: { icon: 'loader-circle', colors: 'of-running' },
  FREE: { icon: 'circle-check', colors: 'of-finished' },
  KEPT: { icon: 'lock', colors: 'of-waiting' },
  DRAINED: { icon: 'circle-slash', colors: 'of-waiting' },
  STARTING: { icon: 'clock', colors: 'of-waiting' },
  STOPPING: { icon: 'clock', colors: 'of-waiting' },
  DOWN: { icon: 'circle-slash', colors: 'of-canceled' },
  FAILED: { icon: 'circle-x', colors: 'of-failed' },
  UNKNOWN: { icon: 'unplug', colors: 'of-failed' },
};

/** Class that gives the colors of a state to what is in it. */
export function colorsOf(state: InstanceState): string {
  return LOOKS[state].colors;
}

/** State of an instance by icon, word and color. */
export function StateBadge({
  state,
  isPlain = false,
}: {
  readonly state: InstanceState;
  readonly isPlain?: boolean;
}) {
  const words = useWords<typeof en>({ en, de });
  const { icon, colors } = LOOKS[state];
  return (
    <span className={`status ${isPlain ? 'plain' : ''} ${colors}`}>
      <Icon name={icon} size={14} className={state === 'WORKING' ? 'turning' : ''} />
      {words.states[state]}
    </span>
  );
}
