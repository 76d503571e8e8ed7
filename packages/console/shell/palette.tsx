import { Dialog } from '@base-ui/react/dialog';
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { useLocation } from 'wouter';
import { changePreferences, usePreferences } from '../base/preference-store.js';
import { Icon, type IconName } from '../icons/icon.js';
import { useCommonWords } from '../words/common.js';
import { useWords } from '../words/dictionary.js';
import { shortIdOf, useTaskName } from '../words/task-name.js';
import { useEntries } from './use-entries.js';
import { useFoundTasks } from './use-found-tasks.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

interface Command {
  readonly key: string;
  readonly label: string;
  /** More about it, in a quieter color. */
  readonly more?: string;
  readonly icon: IconName;
  readonly run: () => void;
}

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
  const { tasks, isSearching } = useTaskCommands(text.trim());
  const commands = [...useCommands(text.trim()), ...tasks];
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
            key={command.key}
            id={`${listId}-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === active}
            className="command"
            onClick={() => run(command)}
          >
            <Icon name={command.icon} />
            {command.label}
            {command.more !== undefined && <span className="faint">{command.more}</span>}
          </div>
        ))}
      </div>
      {commands.length === 0 && !isSearching && <p className="faint none">{words.nothingFound}</p>}
    </>
  );
}

/** Tasks that the text finds, as commands that lead to them. */
function useTaskCommands(text: string): {
  readonly tasks: readonly Command[];
  readonly isSearching: boolean;
} {
  const common = useCommonWords();
  const nameOf = useTaskName();
  const [, navigate] = useLocation();
  const { tasks, isSearching } = useFoundTasks(text);
  return {
    isSearching,
    tasks: tasks.map((task) => ({
      key: task.id,
      label: nameOf(task),
      more: `${common.status[task.status]} · ${shortIdOf(task.id)}`,
      icon: 'list',
      run: () => navigate(`/tasks/${task.id}`),
    })),
  };
}

/** Screens and settings whose words contain the text. */
function useCommands(text: string): readonly Command[] {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const [, navigate] = useLocation();
  const screens = useEntries().map(({ path, entry: { label, icon } }) => ({
    key: path,
    label: label[language],
    icon,
    run: () => navigate(path),
  }));
  const settings: Command[] = [
    ...(['system', 'light', 'dark'] as const).map((theme) => ({
      key: `theme ${theme}`,
      label: `${words.theme}: ${words.themes[theme]}`,
      icon: ({ system: 'monitor', light: 'sun', dark: 'moon' } as const)[theme],
      run: () => changePreferences({ theme }),
    })),
    ...(['en', 'de'] as const).map((each) => ({
      key: `language ${each}`,
      label: `${words.language}: ${words.languages[each]}`,
      icon: 'languages' as const,
      run: () => changePreferences({ language: each }),
    })),
    ...(['relative', 'absolute'] as const).map((times) => ({
      key: `times ${times}`,
      label: `${words.times}: ${words.timeStyles[times]}`,
      icon: 'clock' as const,
      run: () => changePreferences({ times }),
    })),
  ];
  const wanted = text.toLowerCase();
  return [...screens, ...settings].filter(({ label }) => label.toLowerCase().includes(wanted));
}
