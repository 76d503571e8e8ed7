import { Icon, type IconName } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import type { InstanceState } from './instance-list.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const LOOKS: Readonly<Record<InstanceState, { readonly icon: IconName; readonly colours: string }>> = {
  WORKING: { icon: 'loader-circle', colours: 'of-running' },
  FREE: { icon: 'circle-check', colours: 'of-finished' },
  DRAINED: { icon: 'circle-slash', colours: 'of-waiting' },
  STARTING: { icon: 'clock', colours: 'of-waiting' },
  STOPPING: { icon: 'clock', colours: 'of-waiting' },
  DOWN: { icon: 'circle-slash', colours: 'of-canceled' },
  FAILED: { icon: 'circle-x', colours: 'of-failed' },
  UNKNOWN: { icon: 'unplug', colours: 'of-failed' },
};

/** Class that gives the colours of a state to what is in it. */
export function coloursOf(state: InstanceState): string {
  return LOOKS[state].colours;
}

/** State of an instance by icon, word and colour. */
export function StateBadge({
  state,
  isPlain = false,
}: {
  readonly state: InstanceState;
  readonly isPlain?: boolean;
}) {
  const words = useWords<typeof en>({ en, de });
  const { icon, colours } = LOOKS[state];
  return (
    <span className={`status ${isPlain ? 'plain' : ''} ${colours}`}>
      <Icon name={icon} size={14} className={state === 'WORKING' ? 'turning' : ''} />
      {words.states[state]}
    </span>
  );
}
