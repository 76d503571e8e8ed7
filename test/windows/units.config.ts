import { defineConfig } from 'vitest/config';
import { FILES_NOT_ON_WINDOWS, TESTS_NOT_ON_WINDOWS } from './not-on-windows.js';

const titles = Object.keys(TESTS_NOT_ON_WINDOWS).map((title) => title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));

/** Unit tests of what runs on a simulation host. */
export default defineConfig({
  test: {
    include: ['{agent,shared,packages/runner,packages/one-file}/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**', ...Object.keys(FILES_NOT_ON_WINDOWS)],
    ...(titles.length > 0 ? { testNamePattern: new RegExp(`^(?!.*(?:${titles.join('|')}))`) } : {}),
    testTimeout: 60_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000, interval: 10 } },
    pool: 'forks',
    maxWorkers: 3,
  },
});
