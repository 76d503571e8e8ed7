import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BlobLost, type SpooledReport } from '@workbench-hub/shared/joining/ports/spool';
import { attemptReport } from '@workbench-hub/shared/joining/reports';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openSpool } from './disk-spool.js';

const LOG = pino({ level: 'silent' });
const REF = { taskId: '019c0000-0000-7000-8000-000000000001', attempt: 1, instanceId: 'sim' };

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'spool-test-'));
});

afterEach(() => rm(directory, { recursive: true, force: true }));

function open() {
  return openSpool(directory, systemRuntime, LOG);
}

function report(attempt: number, folder: string | null = null): SpooledReport {
  return { report: attemptReport({ ...REF, attempt }, { outcome: 'OK', message: null }), folder };
}

describe('a spool', () => {
  test('has reports until they are acknowledged, also after a crash', async () => {
    const crashed = await open();
    const [first, second, third] = [report(1), report(2), report(3)];
    await Promise.all([crashed.put(first), crashed.put(second), crashed.put(third)]);
    await crashed.acknowledge(second);
    await appendFile(join(directory, 'journal.jsonl'), '{"put":{"rep');
    const next = await open();
    expect(next.leftOver).toEqual([first, third]);
    await next.acknowledge(first);
    await next.acknowledge(third);
    await next.close();
    expect(await readFile(join(directory, 'journal.jsonl'), 'utf8')).toBe('');
    await crashed.close();
  });

  test('stops cleanly and logs an error when its journal cannot be rewritten', async () => {
    const lines: string[] = [];
    const root = join(directory, 'spool');
    const spool = await openSpool(root, systemRuntime, pino({}, { write: (line) => void lines.push(line) }));
    await rm(root, { recursive: true });
    await writeFile(root, 'no folder');
    await spool.close();
    expect(lines.join('')).toContain('the journal of the spool could not be compacted');
  });

  test('keeps the blobs of a report until it is acknowledged', async () => {
    const spool = await open();
    const folder = await spool.createFolder(REF);
    const writer = await folder.begin();
    await writer.write(Buffer.from('hello '));
    await writer.write(Buffer.from('world'));
    const file = await writer.finish();
    expect(file).toEqual({
      digest: 'b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9',
      sizeBytes: 11,
    });
    const chunks: Uint8Array[] = [];
    for await (const chunk of spool.read(folder.name, file, 0)) chunks.push(chunk);
    for await (const chunk of spool.read(folder.name, file, 6)) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString()).toBe('hello worldworld');
    await spool.verify(folder.name, file);
    const spooled = report(1, folder.name);
    await spool.put(spooled);
    await spool.acknowledge(spooled);
    expect(await readdir(join(directory, 'files'))).toEqual([]);
    await spool.close();
  });

  test('removes the blobs of an acknowledged report even if the journal cannot be written', async () => {
    const root = join(directory, 'spool');
    const spool = await openSpool(root, systemRuntime, LOG);
    const folder = await spool.createFolder(REF);
    await spool.put(report(1, folder.name));
    // Nothing can be written in place of the journal, as on a full disk.
    await rm(join(root, 'journal.jsonl'));
    await mkdir(join(root, 'journal.jsonl.new'));
    await expect(spool.acknowledge(report(1, folder.name))).rejects.toThrow('EISDIR');
    expect(await readdir(join(root, 'files'))).toEqual([]);
    await spool.close();
  });

  test('removes blobs that no report names', async () => {
    const crashed = await open();
    const [kept, lost] = [await crashed.createFolder(REF), await crashed.createFolder(REF)];
    expect(kept.name).not.toBe(lost.name);
    await crashed.put(report(1, kept.name));
    const next = await open();
    expect(await readdir(join(directory, 'files'))).toEqual([kept.name]);
    await next.close();
    await crashed.close();
  });

  test('reports lost or damaged blobs', async () => {
    const spool = await open();
    const folder = await spool.createFolder(REF);
    const read = async () => {
      for await (const _ of spool.read(folder.name, { digest: 'ab', sizeBytes: 3 }, 0));
    };
    await expect(read()).rejects.toThrow(BlobLost);
    await writeFile(join(directory, 'files', folder.name, 'ab'), 'too long');
    await expect(read()).rejects.toThrow('8 instead of 3 bytes');
    const damaged = spool.verify(folder.name, { digest: 'ab', sizeBytes: 8 });
    await expect(damaged).rejects.toThrow(BlobLost);
    await expect(damaged).rejects.toThrow(/^the spooled blob ab has the digest [0-9a-f]{64} now$/);
    await spool.close();
  });

  test('tries a blob again that cannot be read for now, and counts one that is gone as lost', async () => {
    const spool = await open();
    const { name } = await spool.createFolder(REF);
    const path = join(directory, 'files', name, 'ab');
    // Neither file nor folder, but a link to itself: another error than that of a missing file, also for root.
    await symlink('ab', path);
    const file = { digest: 'ab', sizeBytes: 3 };
    const read = async () => {
      for await (const _ of spool.read(name, file, 0));
    };
    const unavailable = expect.objectContaining({ name: 'TransferFailed', failure: 'UNAVAILABLE' });
    await expect(read()).rejects.toThrow(unavailable);
    await expect(spool.verify(name, file)).rejects.toThrow(unavailable);
    expect(() => spool.readSmall(name, file)).toThrow(unavailable);
    await rm(path);
    await expect(read()).rejects.toThrow(BlobLost);
    expect(() => spool.readSmall(name, file)).toThrow(BlobLost);
    await spool.close();
  });
});
