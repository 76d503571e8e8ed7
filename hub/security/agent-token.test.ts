import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { agentToken } from './agent-token.js';

let folder: string;
let dataDir: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'workbench-test-'));
  dataDir = join(folder, 'data');
});
afterEach(() => rm(folder, { recursive: true }));

describe('the token of the agents', () => {
  it('is the configured one, and no file is written', async () => {
    expect(await agentToken('configured', dataDir)).toBe('configured');
    await expect(stat(dataDir)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('is created once, hard to guess, and readable by the user of the hub only', async () => {
    const token = await agentToken(null, dataDir);
    expect(token).toMatch(/^[\w-]{43}$/);
    const path = join(dataDir, 'agent-token');
    expect(await readFile(path, 'utf8')).toBe(`${token}\n`);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await agentToken(null, dataDir)).toBe(token);
    expect(await agentToken(null, join(folder, 'other'))).not.toBe(token);
  });

  it('is never empty, even if its file is', async () => {
    await agentToken(null, dataDir);
    await writeFile(join(dataDir, 'agent-token'), '\n');
    await expect(agentToken(null, dataDir)).rejects.toBeInstanceOf(StartRefused);
  });
});
