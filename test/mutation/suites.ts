/** Folders whose code is changed, and tests that notice it. */

/** Folders whose code is changed. */
export const FOLDERS: readonly string[] = [
  'hub/core',
  'hub/engine',
  'hub/store',
  'hub/agent-link',
  'agent/engine',
  'shared/joining',
];

/** Beginnings of the paths of the test files that are run, in groups. */
export const TESTS: readonly (readonly string[])[] = [
  FOLDERS.map((folder) => `${folder}/`),
  ['test/engine/'],
  ['test/conformance/'],
  ['test/contract/'],
  ['hub/', 'agent/'],
];

/** Beginning of the name of a test that is run with hubs on PostgreSQL: `postgres:test/contract/login.test.ts`. */
const POSTGRES = 'postgres:';

/** Test files that are run with hubs on PostgreSQL, too; they tell of the code of that store alone. */
export const TESTS_ON_POSTGRES: readonly string[] = [`${POSTGRES}test/contract/`];
/** Folder of the code of the store on PostgreSQL. */
export const CODE_OF_POSTGRES = 'hub/store/postgres/';

/** File of a test, or beginning of its path, and the environment of the process that runs it. */
export function fileAndEnvironment(test: string): {
  readonly file: string;
  readonly environment: Readonly<Record<string, string>>;
} {
  if (!test.startsWith(POSTGRES)) return { file: test, environment: {} };
  return { file: test.slice(POSTGRES.length), environment: { STORE: 'postgres' } };
}

/** Name of a test file in the same environment as the group `test`. */
export function nameInGroup(file: string, group: string): string {
  return group.startsWith(POSTGRES) ? POSTGRES + file : file;
}

/** Test files that are left out: the programs of their sandboxes cannot read the module that records what is reached. */
export const LEFT_OUT: readonly string[] = ['agent/sandboxed-jobs.test.ts'];

/** Runs of the simulation, with their arguments. */
export const WORLDS: Readonly<Record<string, readonly string[]>> = {
  simulation: ['--from', '1', '--seeds', '30'],
  'simulation of several hubs': ['--hubs', 'several', '--from', '1', '--seeds', '10'],
  'simulation of studies': ['--studies', '--from', '1', '--seeds', '10'],
  'simulation of hosts': ['--hosts', '--from', '1', '--seeds', '10'],
  'simulation of updates': ['--rollouts', '--from', '1', '--seeds', '10'],
};

/** Tests that are run for each change that they reach, however long they take: they hold most of what a store and a hub promise. */
export const THOROUGH: readonly string[] = [
  'test/conformance/sqlite.test.ts',
  'test/conformance/postgres.test.ts',
  ...Object.keys(WORLDS),
];

/** Arguments of Node.js for a run of the simulation. */
export function commandOf(worlds: string): readonly string[] {
  return ['test/dist/simulation/main.js', '--threads', '1', ...(WORLDS[worlds] ?? [])];
}

/** Code that runs once for all tests of a process, before them: it makes the tables of their databases. */
export const RUN_ONCE = /^hub\/store\/postgres\/(?:migrat|schema)/;
