import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openAgentFiles } from './agent-files.js';

const VERSION = '0.2.0';
const LINUX = `workbench-agent-${VERSION}-linux-x64`;
const WINDOWS = `workbench-agent-${VERSION}-win-x64.exe`;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'agent-files-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

it('offers the files of its version, whole and in part', async () => {
  put(LINUX, WINDOWS, `${LINUX}.cdx.json`, 'workbench-agent-0.1.0-linux-arm64');
  const files = await openAgentFiles(folder, VERSION);
  expect(files.version).toBe(VERSION);
  const byName = [...files.files].sort((a, b) => (a.system < b.system ? -1 : 1));
  expect(byName).toEqual([
    { system: 'linux-x64', digest: digestOf(LINUX), sizeBytes: LINUX.length },
    { system: 'win-x64', digest: digestOf(WINDOWS), sizeBytes: WINDOWS.length },
  ]);
  const found = files.find(digestOf(LINUX));
  if (found === undefined) throw new Error('the file is not offered');
  expect(found.sizeBytes).toBe(LINUX.length);
  expect(await text(found.open())).toBe(LINUX);
  expect(await text(found.open({ start: 2, end: 5 }))).toBe(LINUX.slice(2, 5));
  expect(await text(found.open({ start: 5, end: 5 }))).toBe('');
  expect(files.find('0'.repeat(64))).toBeUndefined();
});

it('refuses a folder without a file of its version, or without digests', async () => {
  await expect(openAgentFiles(folder, VERSION)).rejects.toThrow(
    /SHA256SUMS cannot be read \(ENOENT\): copy it/,
  );
  put('workbench-agent-0.1.0-linux-x64');
  await expect(openAgentFiles(folder, VERSION)).rejects.toThrow(
    /agents\.updates\.folder: .* has no file of the agent of version 0\.2\.0, which is that of this hub: fill it/,
  );
});

it('refuses a damaged file', async () => {
  put(LINUX);
  writeFileSync(join(folder, LINUX), 'damaged');
  await expect(openAgentFiles(folder, VERSION)).rejects.toThrow(/does not have the digest of SHA256SUMS/);
});

/** Files whose content is their name, and their digests. */
function put(...names: string[]): void {
  for (const name of names) writeFileSync(join(folder, name), name);
  writeFileSync(join(folder, 'SHA256SUMS'), names.map((name) => `${digestOf(name)}  ${name}\n`).join(''));
}

function digestOf(content: string): string {
  return createHash('sha256').update(content).digest('hex');
}
