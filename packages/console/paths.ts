/** Paths of the screens, with `:name` for parameters. The hub serves the page of the console for each of them. */
export const PATHS = {
  home: '/',
  newJob: '/new',
  tasks: '/tasks',
  task: '/tasks/:id',
  instances: '/instances',
  instance: '/instances/:id',
  storage: '/storage',
  tokens: '/tokens',
  administration: '/administration',
  administrationPart: '/administration/:part',
  /** Begin and end of a log-in by the company's sign-on. */
  signOn: '/sign-on',
} as const;

export type ScreenName = keyof typeof PATHS;
