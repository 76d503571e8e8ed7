/** The suite of recent logins: for a hub that has its store alone, and of two hubs on one PostgreSQL database. */
import { ownLoginRecords } from '@workbench-hub/hub/engine/accounts/own-login-records';
import { postgresLoginRecords } from '@workbench-hub/hub/store/postgres/accounts/login-records';
import { openPool } from '@workbench-hub/hub/store/postgres/connection/pool';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { describe, expect, it, onTestFinished } from 'vitest';
import { memoryLog } from '../support/memory-log.js';
import { contentOf, hasPostgres, migratedDatabase } from '../support/stores/postgres.js';
import { describeLoginRecords, type LoginRecordsUnderTest } from './login-records-suite.js';

async function openInMemory(): Promise<LoginRecordsUnderTest> {
  const runtime = manualRuntime();
  const records = ownLoginRecords(runtime.clock);
  return { records, others: records, runtime, close: async () => undefined };
}

async function openOnPostgres() {
  const runtime = manualRuntime();
  const database = await migratedDatabase();
  const { log } = memoryLog();
  const pools = [openPool({ url: database.url, log }), openPool({ url: database.url, log })] as const;
  const [records, others] = pools.map((pool) => postgresLoginRecords(pool, { ...runtime, log }));
  if (!records || !others) throw new Error('no records');
  return {
    ...{ records, others, runtime, url: database.url },
    close: async () => {
      for (const pool of pools) await pool.close();
      await database.drop();
    },
  };
}

describe('recent logins of a hub alone', () => describeLoginRecords(openInMemory));

describe.skipIf(!hasPostgres)('recent logins on PostgreSQL', () => {
  describeLoginRecords(openOnPostgres);

  it('keep no name as it was typed, and nothing after the last sweep', async () => {
    const { records, runtime, url, close } = await openOnPostgres();
    onTestFinished(close);
    await records.begin('a password in the wrong field');
    await records.succeeded('anna of the works', '192.0.2.1', []);
    const kept = await contentOf(url);
    for (const text of ['a password', 'anna of', '192.0.2.1']) expect(kept).not.toContain(text);
    await runtime.advance(12 * 3_600_000);
    await records.sweep();
    expect((await contentOf(url)).length).toBeLessThan(kept.length - 100);
  });
});
