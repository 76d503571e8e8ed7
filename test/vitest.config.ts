import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { exerciseReport } from './support/exercise-reporter.js';

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  plugins: [exerciseReport()],
  test: {
    include: ['{shared,hub,agent,packages,test}/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**'],
    allowOnly: !process.env['CI'],
    // Much of the time tests wait for programs that they started: one worker less than cores, Vitest's default, leaves the
    // machine idle.
    maxWorkers: Math.max(2, availableParallelism()),
    testTimeout: 20_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
  },
});
