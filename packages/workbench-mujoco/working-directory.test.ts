import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WorkingDirectory } from './working-directory.js';

const home = process.cwd();
const never = new AbortController().signal;
let folder: string;

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'working-directory-')));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('the working directory of the process', () => {
  it('is that of one job after the other, and then its own again', async () => {
    const directory = new WorkingDirectory();
    const seen: string[] = [];
    let endFirst: () => void = () => undefined;
    const first = directory.within(folder, never, async () => {
      await new Promise<void>((resolve) => {
        endFirst = resolve;
      });
      seen.push(process.cwd());
      throw new Error('failed');
    });
    const second = directory.within(tmpdir(), never, async () => void seen.push(process.cwd()));
    await new Promise(setImmediate);
    endFirst();
    await expect(first).rejects.toThrow('failed');
    await second;
    expect(seen).toEqual([folder, realpathSync(tmpdir())]);
    expect(process.cwd()).toBe(home);
  });

  it('is not waited for by a canceled job, and the next job gets its turn', async () => {
    const directory = new WorkingDirectory();
    let endFirst: () => void = () => undefined;
    const first = directory.within(
      folder,
      never,
      () =>
        new Promise<void>((resolve) => {
          endFirst = resolve;
        }),
    );
    const cancel = new AbortController();
    const canceled = directory.within(folder, cancel.signal, () => Promise.reject(new Error('was run')));
    const third = directory.within(folder, never, () => Promise.resolve('ran'));
    cancel.abort();
    await expect(canceled).rejects.toThrow('canceled before its turn');
    endFirst();
    await first;
    expect(await third).toBe('ran');
    expect(process.cwd()).toBe(home);
  });
});
