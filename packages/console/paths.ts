/** Paths of the screens, with `:name` for parameters. The hub serves the page of the console for each of them. */
export const PATHS = {
  home: '/',
  newJob: '/new',
  tasks: '/tasks',
  task: '/tasks/:id',
  studies: '/studies',
  newStudy: '/studies/new',
  study: '/studies/:id',
  instances: '/instances',
  instance: '/instances/:id',
  hosts: '/hosts',
  storage: '/storage',
  tokens: '/tokens',
  administration: '/administration',
  administrationPart: '/administration/:part',
  /** Begin and end of a log-in by the company's sign-on. */
  signOn: '/sign-on',
} as const;

export type ScreenName = keyof typeof PATHS;

/** File in which the screen of a path is, without its ending. */
const SCREEN_OF = {
  home: 'overview-screen',
  newJob: 'new-job-screen',
  tasks: 'tasks-screen',
  task: 'task-screen',
  studies: 'studies-screen',
  newStudy: 'new-study-screen',
  study: 'study-screen',
  instances: 'instances-screen',
  instance: 'instance-screen',
  hosts: 'hosts-screen',
  storage: 'storage-screen',
  tokens: 'tokens-screen',
  administration: 'administration-screen',
  administrationPart: 'administration-screen',
} as const;
export type ScreenFile = (typeof SCREEN_OF)[keyof typeof SCREEN_OF];

/** Whether an address is one of this path. */
export function isAt(path: string, address: string): boolean {
  return new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`).test(address);
}

/** File of the screen at an address; undefined for none. */
export function screenAt(address: string): ScreenFile | undefined {
  const names = Object.keys(SCREEN_OF) as (keyof typeof SCREEN_OF)[];
  const name = names.find((each) => isAt(PATHS[each], address));
  return name && SCREEN_OF[name];
}
