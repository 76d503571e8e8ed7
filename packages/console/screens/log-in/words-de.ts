import type { DictionaryLike } from '../../words/dictionary.js';
import type { en } from './words-en.js';

export const de: DictionaryLike<typeof en> = {
  title: 'Anmelden',
  again: 'Ihre Sitzung ist zu Ende',
  againMore:
    'Melden Sie sich wieder an und machen Sie dort weiter, wo Sie waren. Nichts Getipptes geht verloren.',
  username: 'Benutzername',
  password: 'Passwort',
  logIn: 'Anmelden',
  wrong: 'Benutzername oder Passwort ist falsch, oder der Benutzer ist gesperrt.',
  tooMany: (seconds) => `Zu viele Versuche. Wieder in ${seconds} s.`,
  unreachable: 'Der Hub ist nicht erreichbar. Versuchen Sie es gleich noch einmal.',
  failed: (status) => `Die Anmeldung ging nicht (${status}). Versuchen Sie es gleich noch einmal.`,
  starting: 'Der Hub wird gefragt …',
};
