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
    testTimeout: 20_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
  },
});
