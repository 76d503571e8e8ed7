import { expect, it } from 'vitest';
import type { Database } from '../connection/pool.js';
import { refuseUnfit } from './check.js';

/** A server of this version, whose settings are those that a hub needs. */
const serverOf = (version: string, version_number: number) =>
  ({
    location: 'postgres://db',
    rows: async () => [
      {
        ...{ version, version_number, encoding: 'UTF8', database: 'workbench', is_standby: false },
        ...{ synchronous_commit: 'on', read_only: 'off', isolation: 'read committed' },
      },
    ],
  }) as unknown as Database;

it('a start accepts the oldest server that the store can use, and refuses the one before in words', async () => {
  await refuseUnfit(serverOf('15.0', 150_000));
  await expect(refuseUnfit(serverOf('14.22', 140_022))).rejects.toThrow(
    'the database postgres://db cannot be used: version: this is PostgreSQL 14.22; the hub needs 15 or newer',
  );
});
