import type { en } from './common-en.js';
import type { DictionaryLike } from './dictionary.js';

export const de: DictionaryLike<typeof en> = {
  hub: 'Workbench Hub',
  status: {
    WAITING: 'Wartet',
    RUNNING: 'Läuft',
    FINISHED: 'Fertig',
    FAILED: 'Gescheitert',
    CANCELED: 'Abgebrochen',
  },
  priority: {
    HIGHEST: 'Höchste',
    HIGH: 'Hoch',
    NORMAL: 'Normal',
    LOW: 'Niedrig',
    LOWEST: 'Niedrigste',
  },
  loading: 'Wird geladen',
  again: 'Noch einmal',
  close: 'Schließen',
  refused: 'Das dürfen Sie nicht sehen',
  refusedWhy: (role) => `Dazu braucht es die Rolle ${role}. Fragen Sie die Verwaltung des Hubs.`,
  failed: 'Das ließ sich nicht laden',
  broken: 'Diese Ansicht lässt sich nicht zeigen',
  brokenMore: 'Vielleicht wurde der Hub aktualisiert, seit Sie die Seite geöffnet haben.',
  reload: 'Seite neu laden',
  copy: 'Kopieren',
  copied: 'Kopiert',
  showMore: (left) => `Mehr zeigen (noch ${left})`,
  unnamed: (id: string) => `Aufgabe ${id}`,
};
