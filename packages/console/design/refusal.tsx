import { Icon } from '../icons/icon.js';
import { ErrorWords } from './hub-words.js';

interface RefusalProps {
  /** Words of the screen, before the reason. */
  readonly words: string;
  readonly error: Error;
}

/** Refusal of an action by the hub, or its failure. */
export function Refusal({ words, error }: RefusalProps) {
  return (
    <p className="notice of-failed" role="alert">
      <Icon name="circle-x" />
      <span>
        {words} <ErrorWords error={error} />
      </span>
    </p>
  );
}
