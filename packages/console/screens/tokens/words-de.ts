import type { DictionaryLike } from '../../words/dictionary.js';
import type { en } from './words-en.js';

export const de: DictionaryLike<typeof en> = {
  title: 'Zugriffstoken',
  more: 'Skripte handeln mit einem Token für Sie. Er darf nie mehr als Sie.',
  notBySignOn:
    'Sie kommen über die Firmenanmeldung, und Ihre Rollen kommen von dort. Auch Skripte erhalten ihre Token dort, mit Client Credentials: Fragen Sie, wer sie betreibt.',
  notOnOpenHub: 'Dieser Hub verlangt von niemandem einen Token.',
  name: 'Wofür ist er?',
  namePlaceholder: 'Nächtliche Studie',
  days: 'Gilt',
  daysOf: (count) => `${count} Tage`,
  role: 'Rolle',
  roles: {
    VIEWER: 'Viewer: sieht',
    USER: 'User: gibt Jobs ab',
    ADMIN: 'Verwaltung',
    METRICS: 'Nur Messwerte',
  },
  create: 'Token erstellen',
  refused: 'Der Hub lehnt ab:',
  created: (name) => `Token für ${name}`,
  use: 'Geben Sie ihn dem Skript als Variable WB_TOKEN oder im Kopf Authorization: Bearer.',
  columns: {
    name: 'Für',
    role: 'Rolle',
    created: 'Erstellt',
    used: 'Zuletzt benutzt',
    expires: 'Läuft ab',
    actions: 'Aktionen',
  },
  never: 'nie',
  revoke: 'Widerrufen',
  revokeTitle: (name) => `Token für ${name} widerrufen?`,
  revokeMore: 'Skripte, die ihn nutzen, werden ab dann abgelehnt. Das lässt sich nicht rückgängig machen.',
  none: 'Keine Token',
  noneMore: 'Erstellen Sie einen je Skript, dann können Sie sie einzeln widerrufen.',
};
