import { useState } from 'react';
import { HubWords } from '../../design/hub-words.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** Length up to which a message is shown as it is. */
const SHORT = 140;

interface MessageProps {
  readonly children: string;
  /** Name of what it is about. */
  readonly of: string;
  readonly isOpenAtFirst?: boolean;
}

/** Words of the workload manager; of long ones, such as the end of a job's output, the beginning until all is asked for. */
export function Message({ children, of, isOpenAtFirst = false }: MessageProps) {
  const words = useWords<typeof en>({ en, de });
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  const isLong = children.length > SHORT || children.includes('\n');
  return (
    <div className="recipe-message">
      <p className={isLong && !isOpen ? 'recipe-message-beginning' : undefined}>
        <HubWords>{children}</HubWords>
      </p>
      {isLong && (
        <button
          type="button"
          className="button plain"
          aria-expanded={isOpen}
          aria-label={`${isOpen ? words.less : words.all}: ${of}`}
          onClick={() => setOpen(!isOpen)}
        >
          <Icon name={isOpen ? 'arrow-up' : 'chevron-down'} />
          {isOpen ? words.less : words.all}
        </button>
      )}
    </div>
  );
}
