import { Menu } from '@base-ui/react/menu';
import type { ReactNode } from 'react';
import { usePreferences } from '../base/preference-store.js';
import type { Language, Theme, TimeStyle } from '../base/preferences.js';
import { usePerson } from '../data/hub.js';
import { Icon } from '../icons/icon.js';
import { useWords } from '../words/dictionary.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

interface SettingsMenuProps {
  /** Content of the button. */
  readonly label: ReactNode;
  readonly onLogOut: () => void;
}

/** Menu of the user: theme, language, form of times, and the end of the session. */
export function SettingsMenu({ label, onLogOut }: SettingsMenuProps) {
  const words = useWords<typeof en>({ en, de });
  const person = usePerson();
  const [{ theme, language, times }, change] = usePreferences();
  const name = person?.isLoggedIn ? person.username : undefined;
  return (
    <Menu.Root defaultOpen>
      <Menu.Trigger className="button plain who">{label}</Menu.Trigger>
      <Menu.Portal>
        <Menu.Positioner sideOffset={6} align="end" className="above">
          <Menu.Popup className="popup">
            <div className="group">{name === undefined ? words.openHub : words.loggedInAs(name)}</div>
            <Choice
              label={words.theme}
              value={theme}
              options={words.themes}
              onChange={(value) => change({ theme: value as Theme })}
            />
            <Choice
              label={words.language}
              value={language}
              options={words.languages}
              onChange={(value) => change({ language: value as Language })}
            />
            <Choice
              label={words.timesOf(Intl.DateTimeFormat().resolvedOptions().timeZone)}
              value={times}
              options={words.timeStyles}
              onChange={(value) => change({ times: value as TimeStyle })}
            />
            {name !== undefined && (
              <>
                <Menu.Separator className="rule" />
                <Menu.Item className="item" onClick={onLogOut}>
                  <Icon name="log-out" />
                  {words.logOut}
                </Menu.Item>
              </>
            )}
          </Menu.Popup>
        </Menu.Positioner>
      </Menu.Portal>
    </Menu.Root>
  );
}

interface ChoiceProps {
  readonly label: string;
  readonly value: string;
  readonly options: Readonly<Record<string, string>>;
  readonly onChange: (value: string) => void;
}

function Choice({ label, value, options, onChange }: ChoiceProps) {
  return (
    <Menu.Group>
      <Menu.GroupLabel className="group">{label}</Menu.GroupLabel>
      <Menu.RadioGroup value={value} onValueChange={onChange}>
        {Object.entries(options).map(([option, text]) => (
          <Menu.RadioItem key={option} value={option} className="item" closeOnClick={false}>
            {text}
            <Menu.RadioItemIndicator className="end">
              <Icon name="check" />
            </Menu.RadioItemIndicator>
          </Menu.RadioItem>
        ))}
      </Menu.RadioGroup>
    </Menu.Group>
  );
}
