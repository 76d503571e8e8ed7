/** Versions in folders: a stop after each operation on files, and a full disk at each. */
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OfferedVersion } from '../core/ports/versions.js';
import { installedOnly, trialBegun } from '../core/version-states.js';
import {
  FILE_STEPS,
  type FileSteps,
  programOf,
  readVersionState,
  versionFolders,
  writeVersionState,
} from './version-folders.js';

const CONTENT = Buffer.from('#!/bin/sh\necho new\n'.repeat(1000));
const NEW = offered('new', CONTENT);
const STATE = installedOnly('0.1.0 abc');

let base: string;
let folder: string;
let installed: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'versions-test-'));
  folder = join(base, 'versions');
  installed = join(base, 'installed');
  writeFileSync(installed, 'installed');
});
afterEach(() => rmSync(base, { recursive: true }));

it('keeps a version that is whole, as a program that its owner alone may use', async () => {
  const versions = versionFolders(folder, { installed });
  expect(await versions.has('new')).toBe(false);
  await versions.add(NEW, pieces(CONTENT), 0);
  expect(await versions.has('new')).toBe(true);
  expect(statSync(programOf(folder, 'new')).mode & 0o777).toBe(0o700);
  expect(readdirSync(folder)).toEqual(['new']);
});

it('keeps a version whose program was taken out of its folder', async () => {
  const versions = versionFolders(folder, { installed });
  await versions.add(NEW, pieces(CONTENT), 0);
  rmSync(programOf(folder, 'new'));
  writeFileSync(join(folder, 'new', 'left'), '');
  expect(await versions.has('new')).toBe(false);
  await versions.add(NEW, pieces(CONTENT), 0);
  expect(await versions.has('new')).toBe(true);
  expect(readdirSync(join(folder, 'new'))).toHaveLength(1);
});

it('goes on where an interrupted download has ended', async () => {
  const versions = versionFolders(folder, { installed });
  await expect(versions.add(NEW, broken(CONTENT.subarray(0, 100)), 0)).rejects.toThrow('the network is gone');
  expect(await versions.keptBytes(NEW)).toBe(100);
  await versions.add(NEW, pieces(CONTENT.subarray(100)), 100);
  expect(readFileSync(programOf(folder, 'new'))).toEqual(CONTENT);
});

it('refuses and forgets a damaged download', async () => {
  const versions = versionFolders(folder, { installed });
  const damaged = Buffer.from(CONTENT);
  damaged[500] = 0;
  await expect(versions.add(NEW, pieces(damaged), 0)).rejects.toThrow('expected');
  expect(await versions.has('new')).toBe(false);
  expect(await versions.keptBytes(NEW)).toBe(0);
});

it('removes what is not needed', async () => {
  const versions = versionFolders(folder, { installed });
  const old = offered('old', Buffer.from('old'));
  const current = offered('current', Buffer.from('current'));
  for (const [version, text] of [
    [old, 'old'],
    [current, 'current'],
  ] as const)
    await versions.add(version, pieces(Buffer.from(text)), 0);
  await writeVersionState(folder, { ...STATE, current: 'current' });
  await expect(versions.add(NEW, broken(CONTENT.subarray(0, 9)), 0)).rejects.toThrow();
  writeFileSync(join(folder, 'state.json.left'), '');
  await versions.removeOthers(NEW);
  expect(readdirSync(folder).sort()).toEqual([`${NEW.file.digest}.partial`, 'current', 'state.json'].sort());
  await versions.removeOthers(old);
  expect(readdirSync(folder).sort()).toEqual(['current', 'state.json']);
});

it('tells the digest of the installed file', async () => {
  const digest = createHash('sha256').update('installed').digest('hex');
  expect(await versionFolders(folder, { installed }).installedDigest()).toBe(digest);
});

it('reads no state from a damaged file', async () => {
  expect(await readVersionState(folder)).toBeNull();
  await writeVersionState(folder, STATE);
  expect(await readVersionState(folder)).toEqual(STATE);
  writeFileSync(join(folder, 'state.json'), '{"installed":');
  expect(await readVersionState(folder)).toBeNull();
});

/** Ways in which an operation fails: without any effect, and with its effect but nothing after it. */
const FAULTS = ['a full disk', 'a loss of power after it'] as const;

describe.each(FAULTS)('with %s', (fault) => {
  it('adds a version after a failure of each operation', async () => {
    let failures = 0;
    for (let at = 0; ; at++) {
      const { steps, hasFailed } = failing(at, fault);
      const adding = versionFolders(folder, { installed, steps }).add(NEW, pieces(CONTENT), 0);
      const outcome = await adding.then(
        () => 'ADDED',
        () => 'FAILED',
      );
      if (!hasFailed()) break;
      failures++;
      expect(outcome).toBe('FAILED');
      // As the next start of the agent finds it.
      const versions = versionFolders(folder, { installed });
      if (await versions.has('new')) expect(readFileSync(programOf(folder, 'new'))).toEqual(CONTENT);
      else {
        await versions.removeOthers(NEW);
        const keptBytes = await versions.keptBytes(NEW);
        await versions.add(NEW, pieces(CONTENT.subarray(keptBytes)), keptBytes);
        expect(readFileSync(programOf(folder, 'new'))).toEqual(CONTENT);
      }
      rmSync(folder, { recursive: true, force: true });
    }
    expect(failures).toBe(10);
  });

  it('has the state before or the state after, whichever operation fails', async () => {
    const next = trialBegun(STATE, 'new', 'http://127.0.0.1:1/livez');
    let failures = 0;
    for (let at = 0; ; at++) {
      await writeVersionState(folder, STATE);
      const { steps, hasFailed } = failing(at, fault);
      const outcome = await writeVersionState(folder, next, steps).catch(() => 'FAILED');
      if (!hasFailed()) break;
      failures++;
      expect(outcome).toBe('FAILED');
      expect([STATE, next]).toContainEqual(await readVersionState(folder));
    }
    expect(failures).toBe(2);
  });
});

/** Operations of which the one at this place fails. */
function failing(place: number, fault: (typeof FAULTS)[number]) {
  let done = 0;
  const wrapped = Object.entries(FILE_STEPS).map(([name, step]) => [
    name,
    async (...args: unknown[]) => {
      const isFailing = done++ === place;
      if (isFailing && fault === 'a full disk') throw new Error('ENOSPC');
      const result = await (step as (...of: unknown[]) => Promise<unknown>)(...args);
      if (isFailing) throw new Error('the power is gone');
      return result;
    },
  ]);
  return { steps: Object.fromEntries(wrapped) as FileSteps, hasFailed: () => done > place };
}

function offered(name: string, content: Buffer): OfferedVersion {
  const digest = createHash('sha256').update(content).digest('hex');
  return { name, file: { digest, sizeBytes: content.length } };
}

async function* pieces(content: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < content.length; at += 1000) yield content.subarray(at, at + 1000);
}

async function* broken(content: Buffer): AsyncGenerator<Uint8Array> {
  yield content;
  throw new Error('the network is gone');
}
