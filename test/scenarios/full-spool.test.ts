/** The spool of an agent on a disk that is really full. */
import { appendFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type OpenSpool, openSpool } from '@workbench-hub/agent/disk/disk-spool';
import { attemptReport } from '@workbench-hub/shared/joining/reports';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.js';
import { hasSmallDisks, mountSmallDisk } from '../support/stores/small-disk.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const LOG = pino({ level: 'silent' });
const REF = { taskId: '019c0000-0000-7000-8000-000000000001', attempt: 1, instanceId: 'sim' };
const DISK_MIB = 8;
const MIB = 1024 ** 2;

describe.skipIf(!hasSmallDisks())('the spool of an agent on a full disk', () => {
  let folder: TemporaryFolder;
  let root: string;
  let unmount: () => void;
  let spool: OpenSpool;

  beforeEach(async () => {
    folder = await temporaryFolder();
    root = join(folder.path, 'disk');
    unmount = mountSmallDisk(root, DISK_MIB);
    spool = await openSpool(root, systemRuntime, LOG);
  });

  afterEach(async () => {
    await spool.close();
    unmount();
    await folder.remove();
  });

  const fill = () =>
    expect(appendFile(join(root, 'filler'), Buffer.alloc(2 * DISK_MIB * MIB))).rejects.toThrow('ENOSPC');
  const heldBytes = () =>
    stat(join(root, 'reserve')).then(
      ({ size }) => size,
      () => 0,
    );

  it('frees its reserve for a log once, and restores it when there is space', async () => {
    const contents = await spool.createFolder(REF);
    expect(await heldBytes()).toBe(MIB);
    await fill();
    const log = Buffer.alloc(100_000, 'log');
    const writeLog = async () => {
      const writer = await contents.begin();
      try {
        await writer.write(log);
        return await writer.finish();
      } catch (error) {
        await writer.abandon();
        throw error;
      }
    };
    await expect(writeLog()).rejects.toThrow('ENOSPC');
    expect(await spool.makeRoom()).toBe(true);
    expect(await writeLog()).toMatchObject({ sizeBytes: log.length });
    expect(await spool.makeRoom()).toBe(false);

    await rm(join(root, 'filler'));
    await spool.acknowledge({
      report: attemptReport(REF, { outcome: 'OK', message: null }),
      folder: contents.name,
    });
    expect(await eventually(async () => (await heldBytes()) === MIB)).toBe(true);
  });

  it('accepts reports', async () => {
    await fill();
    const message = 'm'.repeat(9000);
    for (let attempt = 1; attempt <= 20; attempt++) {
      await spool.put({
        report: attemptReport({ ...REF, attempt }, { outcome: 'ERROR', message }),
        folder: null,
      });
    }
    const next = await openSpool(root, systemRuntime, LOG);
    expect(next.leftOver).toHaveLength(20);
    await next.close();
  });
});
