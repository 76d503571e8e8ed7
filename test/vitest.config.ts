import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './longest-first.js';
import { NOT_BY_SEVERAL_HUBS } from './not-by-several-hubs.js';
import { firstFailureReport } from './support/first-failure-reporter.js';
import { exerciseReport } from './support/interface/exercise-reporter.js';
import { processorTimeReport } from './support/processor-time/report.js';

/** Files that `npm test` leaves to CI (deploy/test.mjs), separated by commas. */
const leftOut = (process.env['LEFT_OUT'] ?? '').split(',').filter((file) => file !== '');
/** About the files of SQLite; test/scenarios/postgresql-page.test.ts has what doctor says on PostgreSQL. */
const OF_SQLITE = ['test/contract/doctor.test.ts'];
const exclude = [
  '**/node_modules/**',
  '**/dist/**',
  // deploy/test-windows.mjs has Windows.
  ...(process.env['WINDOWS_HOST'] === undefined ? ['**/windows/**'] : []),
  // deploy/test-condor.mjs has HTCondor.
  ...(process.env['CONDOR_SYSTEM'] === undefined ? ['test/condor/**'] : []),
  ...leftOut,
  ...(process.env['STORE'] === 'postgres' ? OF_SQLITE : []),
  ...(process.env['HUBS'] === undefined ? [] : Object.keys(NOT_BY_SEVERAL_HUBS)),
];

/** Tests that start programs, or look at the process that they run in: each file has a process of its own. */
const OWN_PROCESS = [
  'agent/*.test.ts',
  'agent/{disk,process}/**/*.test.ts',
  'shared/hub-link/**/*.test.ts',
  'hub/{own-agent,workload-managers}/*.test.ts',
  'packages/{runner,workbench-mujoco}/**/*.test.ts',
  'test/{bench,chaos,condor,hosts,scenarios,simulation,soak}/**/*.test.ts',
];

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  plugins: [exerciseReport(), processorTimeReport(), firstFailureReport()],
  test: {
    allowOnly: !process.env['CI'],
    // Compiled modules are what a user runs; Node.js loads them in a fraction of the time that Vitest takes to transform them.
    server: { deps: { external: [/\/dist\/.*\.js$/] } },
    // Many tests wait for programs that they started: with more workers than cores no core is idle meanwhile.
    maxWorkers: Math.ceil(availableParallelism() * 2.5),
    // A test ends far earlier; a busy machine must not fail one.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    teardownTimeout: 10_000,
    expect: { poll: { timeout: 60_000, interval: 10 } },
    globalSetup: [
      'test/support/temporary-memory.ts',
      'test/support/programs/bundled-programs.ts',
      'test/support/stores/postgres-server.ts',
    ],
    setupFiles: ['test/support/processor-time/record.ts', 'test/support/interface/record-exercised.ts'],
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: {
          name: 'own process',
          include: OWN_PROCESS,
          exclude,
        },
      },
      {
        extends: true,
        test: {
          // Loading the hub takes longer than most of these files: a worker loads it once for all of them.
          name: 'shared process',
          isolate: false,
          include: ['{shared,hub,agent,packages,test}/**/*.test.ts'],
          exclude: [...exclude, ...OWN_PROCESS],
        },
      },
    ],
  },
});
