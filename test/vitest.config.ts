import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: ['{shared,hub,agent,packages,test}/**/*.test.ts'],
    exclude: ['**/node_modules/**', '**/dist/**'],
    allowOnly: !process.env['CI'],
    testTimeout: 20_000,
    hookTimeout: 60_000,
    teardownTimeout: 10_000,
  },
});
