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
  signOn: 'Weiter mit der Firmenanmeldung',
  signOnAt: (host) => `bei ${host}`,
  signOnWindow: 'Sie öffnet sich in einem eigenen Fenster.',
  orPassword: 'oder mit einem Passwort dieses Hubs',
  signOnDenied: 'Die Firmenanmeldung hat Sie nicht eingelassen, oder Sie haben dort abgebrochen.',
  signOnUnfinished:
    'Die Anmeldung wurde nicht abgeschlossen. Vielleicht hat sie zu lange gedauert; beginnen Sie noch einmal.',
  signOnForbidden: (reason) =>
    `Die Firmenanmeldung kennt Sie, aber dieser Hub lässt Sie nicht ein: ${reason}`,
  signOnAway: 'Die Firmenanmeldung ist nicht erreichbar. Versuchen Sie es gleich noch einmal.',
};
