/** The suites of task stores on PostgreSQL. */
import { Lane } from '@workbench-hub/hub/store/postgres/lanes/lane';
import { afterAll, beforeAll, describe, expect, vi } from 'vitest';
import { hasPostgres } from '../support/stores/postgres.js';
import { openOnPostgres } from './open-task-stores.js';
import { describeTaskStore } from './task-store-suites.js';

describe.skipIf(!hasPostgres)('on a server', () => {
  const written = new Map<string, boolean>();
  beforeAll(() => {
    const { write } = Lane.prototype;
    vi.spyOn(Lane.prototype, 'write').mockImplementation(function (this: Lane, ...args) {
      const [{ statement, isDurable }] = args;
      written.set(statement.text, isDurable);
      return write.apply(this, args) as ReturnType<typeof write>;
    });
  });
  afterAll(() => {
    vi.restoreAllMocks();
    // A lane tells the result of a durable batch only after a crash could no longer undo it.
    const isDurable = (text: string) => !text.includes("set_config('synchronous_commit', 'off'");
    for (const [text, isSaidDurable] of written) expect(isSaidDurable, text).toBe(isDurable(text));
  });

  describeTaskStore('PostgreSQL', openOnPostgres);
});
