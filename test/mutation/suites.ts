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

/** Test files that are left out: the programs of their sandboxes cannot read the module that records what is reached. */
export const LEFT_OUT: readonly string[] = ['agent/sandboxed-jobs.test.ts'];

/** Runs of the simulation, with their arguments. */
export const WORLDS: Readonly<Record<string, readonly string[]>> = {
  simulation: ['--from', '1', '--seeds', '30'],
  'simulation of several hubs': ['--hubs', 'several', '--from', '1', '--seeds', '10'],
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
