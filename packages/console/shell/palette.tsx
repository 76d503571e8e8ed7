import { Dialog } from '@base-ui/react/dialog';
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { usePerson } from '../data/hub.js';
import { changePreferences, usePreferences } from '../data/preference-store.js';
import { Icon, type IconName } from '../icons/icon.js';
import { ROUTES } from '../routes.js';
import { holdsRole } from '../session/session.js';
import { useWords } from '../words/dictionary.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

interface Command {
  readonly label: string;
  readonly icon: IconName;
  readonly run: () => void;
}

/** Identifiers of tasks, as hubs make them. */
const TASK_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

interface PaletteProps {
  readonly isOpen: boolean;
  readonly onOpenChange: (isOpen: boolean) => void;
}

/** The command palette: screens, settings and tasks by their words. */
export function Palette({ isOpen, onOpenChange }: PaletteProps) {
  const words = useWords<typeof en>({ en, de });
  return (
    <Dialog.Root open={isOpen} onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Backdrop className="veil" />
        <Dialog.Popup className="dialog palette" aria-label={words.palette}>
          <Commands onDone={() => onOpenChange(false)} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function Commands({ onDone }: { readonly onDone: () => void }) {
  const words = useWords<typeof en>({ en, de });
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const listId = useId();
  const commands = useCommands(text.trim());
  const active = Math.min(at, commands.length - 1);
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    list.current?.children.item(active)?.scrollIntoView({ block: 'nearest' });
  }, [active]);
  const run = (command: Command | undefined) => {
    if (!command) return;
    onDone();
    command.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown') setAt((active + 1) % commands.length);
    else if (event.key === 'ArrowUp') setAt((active + commands.length - 1) % commands.length);
    else if (event.key === 'Enter') run(commands[active]);
    else return;
    event.preventDefault();
  };
  return (
    <>
      <input
        className="input"
        role="combobox"
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={commands.length > 0 ? `${listId}-${active}` : undefined}
        aria-label={words.paletteHint}
        placeholder={words.paletteHint}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div ref={list} role="listbox" id={listId} aria-label={words.palette} className="commands">
        {commands.map((command, index) => (
          <div
            key={command.label}
            id={`${listId}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === active}
            className="command"
            onClick={() => run(command)}
          >
            <Icon name={command.icon} />
            {command.label}
          </div>
        ))}
      </div>
      {commands.length === 0 && <p className="faint none">{words.nothingFound}</p>}
    </>
  );
}

/** Commands whose words contain the text; a task for a text that is an id. */
function useCommands(text: string): readonly Command[] {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const person = usePerson();
  const [, navigate] = useLocation();
  if (TASK_ID.test(text))
    return [{ label: words.openTask(text), icon: 'list', run: () => navigate(`/tasks/${text}`) }];
  const screens = ROUTES.flatMap(({ path, entry }) =>
    entry && holdsRole(person, entry.role ?? 'VIEWER')
      ? [{ label: entry.label[language], icon: entry.icon, run: () => navigate(path) }]
      : [],
  );
  const settings: Command[] = [
    ...(['system', 'light', 'dark'] as const).map((theme) => ({
      label: `${words.theme}: ${words.themes[theme]}`,
      icon: ({ system: 'monitor', light: 'sun', dark: 'moon' } as const)[theme],
      run: () => changePreferences({ theme }),
    })),
    ...(['en', 'de'] as const).map((each) => ({
      label: `${words.language}: ${words.languages[each]}`,
      icon: 'languages' as const,
      run: () => changePreferences({ language: each }),
    })),
    ...(['relative', 'absolute'] as const).map((times) => ({
      label: `${words.times}: ${words.timeStyles[times]}`,
      icon: 'clock' as const,
      run: () => changePreferences({ times }),
    })),
  ];
  const wanted = text.toLowerCase();
  return [...screens, ...settings].filter(({ label }) => label.toLowerCase().includes(wanted));
}
