/** The table of screens: path, place in the navigation, and the file that is loaded when the screen is opened. */
import { type ComponentType, lazy } from 'react';
import type { IconName } from './icons/icon.js';
import { PATHS } from './paths.js';
import type { Role } from './session/session.js';
import { de } from './shell/words-de.js';
import { en } from './shell/words-en.js';

interface Route {
  readonly path: string;
  readonly screen: ComponentType<{ readonly params: Readonly<Record<string, string | undefined>> }>;
  /** Entry of the navigation and of the palette; absent for a screen that others lead to. */
  readonly entry?: {
    readonly icon: IconName;
    readonly label: { readonly en: string; readonly de: string };
    /** Role without which the entry is hidden; VIEWER by default. */
    readonly role?: Role;
  };
}

/** The screen with and without a part in its path. */
const administration = lazy(async () => ({
  default: (await import('./screens/administration/administration-screen.js')).AdministrationScreen,
}));

export const ROUTES: readonly Route[] = [
  {
    path: PATHS.home,
    screen: lazy(async () => ({
      default: (await import('./screens/overview/overview-screen.js')).OverviewScreen,
    })),
    entry: { icon: 'gauge', label: { en: en.overview, de: de.overview } },
  },
  {
    path: PATHS.newJob,
    screen: lazy(async () => ({
      default: (await import('./screens/new-job/new-job-screen.js')).NewJobScreen,
    })),
    entry: { icon: 'plus', label: { en: en.newJob, de: de.newJob }, role: 'USER' },
  },
  {
    path: PATHS.tasks,
    screen: lazy(async () => ({ default: (await import('./screens/tasks/tasks-screen.js')).TasksScreen })),
    entry: { icon: 'list', label: { en: en.tasks, de: de.tasks } },
  },
  {
    path: PATHS.task,
    screen: lazy(async () => ({ default: (await import('./screens/task/task-screen.js')).TaskScreen })),
  },
  {
    path: PATHS.instances,
    entry: { icon: 'server', label: { en: en.instances, de: de.instances } },
    screen: lazy(async () => ({
      default: (await import('./screens/instances/instances-screen.js')).InstancesScreen,
    })),
  },
  {
    path: PATHS.instance,
    screen: lazy(async () => ({
      default: (await import('./screens/instances/instance-screen.js')).InstanceScreen,
    })),
  },
  {
    path: PATHS.storage,
    entry: { icon: 'database', label: { en: en.storage, de: de.storage } },
    screen: lazy(async () => ({
      default: (await import('./screens/storage/storage-screen.js')).StorageScreen,
    })),
  },
  {
    path: PATHS.tokens,
    entry: { icon: 'user', label: { en: en.tokens, de: de.tokens } },
    screen: lazy(async () => ({ default: (await import('./screens/tokens/tokens-screen.js')).TokensScreen })),
  },
  {
    path: PATHS.administration,
    entry: { icon: 'shield', label: { en: en.administration, de: de.administration }, role: 'ADMIN' },
    screen: administration,
  },
  { path: PATHS.administrationPart, screen: administration },
];
