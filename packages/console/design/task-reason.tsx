import type { TaskItem } from '@workbench-hub/client';
import { usePreferences } from '../base/preference-store.js';
import { reasonOf } from '../data/task-rows.js';
import { useWords } from '../words/dictionary.js';
import { germanReason } from '../words/wait-reason-de.js';
import { HubWords } from './hub-words.js';

const endings = {
  en: {
    never: 'Canceled before it ran.',
    waiting: 'Canceled while it waited again.',
    running: 'Canceled while it ran.',
  },
  de: {
    never: 'Abgebrochen, bevor sie lief.',
    waiting: 'Abgebrochen, während sie wieder wartete.',
    running: 'Abgebrochen, während sie lief.',
  },
};

/** Why a task waits, failed or was canceled; nothing for any other. */
export function TaskReason({ task }: { readonly task: TaskItem }) {
  const [{ language }] = usePreferences();
  const ended = useWords<(typeof endings)['en']>(endings);
  const { status, message, waitReason, startedAt, attempt } = task;
  if (status === 'CANCELED')
    return startedAt !== undefined ? ended.running : attempt === 0 ? ended.never : ended.waiting;
  if (message === undefined) return null;
  if (language !== 'en' && waitReason !== undefined) return germanReason(waitReason);
  return <HubWords>{reasonOf(message)}</HubWords>;
}
