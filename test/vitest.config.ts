import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './longest-first.js';
import { exerciseReport } from './support/exercise-reporter.js';

const exclude = ['**/node_modules/**', '**/dist/**'];

/** Tests that start programs, or look at the process that they run in: each file has a process of its own. */
const OWN_PROCESS = [
  'agent/*.test.ts',
  'agent/{disk,hub-link,process}/**/*.test.ts',
  'packages/**/*.test.ts',
  'test/{bench,chaos,scenarios,simulation}/**/*.test.ts',
];

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  plugins: [exerciseReport()],
  test: {
    allowOnly: !process.env['CI'],
    // Tests wait much of the time for programs that they started: more workers than cores keep the machine busy.
    maxWorkers: Math.max(2, availableParallelism()),
    testTimeout: 20_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
    setupFiles: ['test/support/record-exercised.ts'],
    sequence: { sequencer: LongestFirst },
    projects: [
      { extends: true, test: { name: 'own process', include: OWN_PROCESS, exclude } },
      {
        extends: true,
        test: {
          // Loading the hub takes longer than most of these files: a worker loads it once for all of them.
          name: 'shared process',
          isolate: false,
          include: ['{shared,hub,agent,test}/**/*.test.ts'],
          exclude: [...exclude, ...OWN_PROCESS],
        },
      },
    ],
  },
});
