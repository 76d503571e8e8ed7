import { lazy, Suspense, useState } from 'react';
import { usePerson } from '../data/hub.js';
import { Icon } from '../icons/icon.js';
import { useWords } from '../words/dictionary.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const load = () => import('./settings-menu.js');
const SettingsMenu = lazy(async () => ({ default: (await load()).SettingsMenu }));

/** Button of the settings; their menu is loaded when somebody is about to press it. */
export function SettingsTrigger({ onLogOut }: { readonly onLogOut: () => void }) {
  const [isWanted, setWanted] = useState(false);
  const prepare = () => void load();
  const button = (
    <button
      type="button"
      className="button plain who"
      aria-haspopup="menu"
      onPointerEnter={prepare}
      onFocus={prepare}
      onClick={() => setWanted(true)}
    >
      <SettingsLabel />
    </button>
  );
  if (!isWanted) return button;
  return (
    <Suspense fallback={button}>
      <SettingsMenu label={<SettingsLabel />} onLogOut={onLogOut} />
    </Suspense>
  );
}

/** Name of the user, or the sign of settings. */
function SettingsLabel() {
  const words = useWords<typeof en>({ en, de });
  const person = usePerson();
  const name = <span className="visually-hidden">{words.settings} </span>;
  if (!person?.isLoggedIn) {
    return (
      <>
        <Icon name="settings" size={18} />
        {name}
      </>
    );
  }
  return (
    <>
      <Icon name="user" size={18} />
      {name}
      <span className="name">{person.username}</span>
    </>
  );
}
