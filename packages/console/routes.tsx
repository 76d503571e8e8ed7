/** The table of screens: path, place in the navigation, and the file that is loaded when the screen is opened. */
import { type ComponentType, lazy, useState } from 'react';
import type { IconName } from './icons/icon.js';
import { isAt, PATHS } from './paths.js';
import { prefetchTask } from './screens/task/use-task.js';
import type { Role } from './session/session.js';
import { de } from './shell/words-de.js';
import { en } from './shell/words-en.js';

type Screen = ComponentType<{ readonly params: Readonly<Record<string, string | undefined>> }>;

interface Route {
  readonly path: string;
  readonly screen: Screen;
  /** Fetches the file of the screen. */
  load(): Promise<unknown>;
  /** Fetches the data that the screen at this address shows first. */
  prefetch?(address: string): void;
  /** Entry of the navigation and of the palette; absent for a screen that others lead to. */
  readonly entry?: {
    readonly icon: IconName;
    readonly label: { readonly en: string; readonly de: string };
    /** Role without which the entry is hidden; VIEWER by default. */
    readonly role?: Role;
    /** Whether it is shown only at a hub with recipes of hosts. */
    readonly isForRecipes?: true;
  };
}

function loaded(fetchFile: () => Promise<{ default: Screen }>): Pick<Route, 'screen' | 'load'> {
  let file: { default: Screen } | undefined;
  const load = async () => {
    file = await fetchFile();
    return file;
  };
  const Later = lazy(load);
  return {
    load,
    // A lazy component would show its fallback for 300 ms even when the file is there.
    screen: (props) => {
      const [Screen] = useState(() => file?.default ?? Later);
      return <Screen {...props} />;
    },
  };
}

/** The screen with and without a part in its path. */
const administration = loaded(async () => ({
  default: (await import('./screens/administration/administration-screen.js')).AdministrationScreen,
}));

export const ROUTES: readonly Route[] = [
  {
    path: PATHS.home,
    ...loaded(async () => ({
      default: (await import('./screens/overview/overview-screen.js')).OverviewScreen,
    })),
    entry: { icon: 'gauge', label: { en: en.overview, de: de.overview } },
  },
  {
    path: PATHS.newJob,
    ...loaded(async () => ({
      default: (await import('./screens/new-job/new-job-screen.js')).NewJobScreen,
    })),
    entry: { icon: 'plus', label: { en: en.newJob, de: de.newJob }, role: 'USER' },
  },
  {
    path: PATHS.tasks,
    ...loaded(async () => ({ default: (await import('./screens/tasks/tasks-screen.js')).TasksScreen })),
    entry: { icon: 'list', label: { en: en.tasks, de: de.tasks } },
  },
  {
    path: PATHS.task,
    prefetch: (address) => prefetchTask(address.slice(address.lastIndexOf('/') + 1)),
    ...loaded(async () => ({ default: (await import('./screens/task/task-screen.js')).TaskScreen })),
  },
  {
    path: PATHS.studies,
    entry: { icon: 'flask-conical', label: { en: en.studies, de: de.studies } },
    ...loaded(async () => ({
      default: (await import('./screens/studies/studies-screen.js')).StudiesScreen,
    })),
  },
  {
    // Before the path of a study, which this one matches, too.
    path: PATHS.newStudy,
    ...loaded(async () => ({
      default: (await import('./screens/studies/new/new-study-screen.js')).NewStudyScreen,
    })),
  },
  {
    path: PATHS.study,
    ...loaded(async () => ({ default: (await import('./screens/studies/study-screen.js')).StudyScreen })),
  },
  {
    path: PATHS.instances,
    entry: { icon: 'server', label: { en: en.instances, de: de.instances } },
    ...loaded(async () => ({
      default: (await import('./screens/instances/instances-screen.js')).InstancesScreen,
    })),
  },
  {
    path: PATHS.instance,
    ...loaded(async () => ({
      default: (await import('./screens/instances/instance-screen.js')).InstanceScreen,
    })),
  },
  {
    path: PATHS.hosts,
    entry: { icon: 'layers', label: { en: en.hosts, de: de.hosts }, isForRecipes: true },
    ...loaded(async () => ({ default: (await import('./screens/hosts/hosts-screen.js')).HostsScreen })),
  },
  {
    path: PATHS.storage,
    entry: { icon: 'database', label: { en: en.storage, de: de.storage } },
    ...loaded(async () => ({
      default: (await import('./screens/storage/storage-screen.js')).StorageScreen,
    })),
  },
  {
    path: PATHS.tokens,
    entry: { icon: 'user', label: { en: en.tokens, de: de.tokens } },
    ...loaded(async () => ({ default: (await import('./screens/tokens/tokens-screen.js')).TokensScreen })),
  },
  {
    path: PATHS.administration,
    entry: { icon: 'shield', label: { en: en.administration, de: de.administration }, role: 'ADMIN' },
    ...administration,
  },
  { path: PATHS.administrationPart, ...administration },
];

/** Fetches the screen of an address while it is not known yet who the user is. Resolves when it is there, or cannot be loaded. */
export async function preloadScreen(address: string): Promise<void> {
  const route = ROUTES.find(({ path }) => isAt(path, address));
  // The screen itself says when it cannot be loaded.
  await route?.load().catch(() => undefined);
}

/** Fetches the data of the screen of an address, so that it need not be drawn first without them. */
export function prefetchData(address: string): void {
  ROUTES.find(({ path }) => isAt(path, address))?.prefetch?.(address);
}
