import type { DictionaryLike } from '../../../words/dictionary.js';
import type { en } from './words-en.js';

export const de: DictionaryLike<typeof en> = {
  cancel: 'Alle abbrechen',
  delete: 'Alle löschen',
  cancelTitle: 'Die Aufgaben dieser Liste abbrechen?',
  deleteTitle: 'Die Aufgaben dieser Liste löschen?',
  counting: 'Was das trifft, wird gezählt …',
  hitsCancel: (count) => `Aufgaben, die abgebrochen werden: ${count}`,
  hitsDelete: (count) => `Beendete Aufgaben, die mit Logs und Ausgaben gelöscht werden: ${count}`,
  orMore: (count) => `${count} oder mehr`,
  none: 'Keine: keine Aufgabe dieser Liste gehört Ihnen und lässt es zu.',
  noFilter: 'Kein Filter ist gesetzt: gemeint sind alle Aufgaben des Hubs bis auf die von Studien.',
  noFilterAtAll: 'Kein Filter ist gesetzt: gemeint sind alle Aufgaben des Hubs, auch die von Studien.',
  ofAll: 'Auch Aufgaben anderer Benutzer sind gemeint.',
  ofYours: 'Nur Ihre eigenen Aufgaben sind gemeint.',
  tooLate: 'Aufgaben, die ab jetzt kommen, trifft es nicht.',
  force: 'Auch laufende: ihre Prozesse werden beendet',
  first: (count) => `Die ersten ${count}`,
  keep: 'Nein, so lassen',
  close: 'Schließen',
  doCancel: (count) => `${count} abbrechen`,
  doDelete: (count) => `${count} löschen`,
  done: (count) => `Erledigt: ${count}`,
  going: (count) => `bisher ${count} …`,
  failed: (count) => `Der Hub hörte nach ${count} auf:`,
  again: 'Noch einmal',
};
