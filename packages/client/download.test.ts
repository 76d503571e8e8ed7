import { link, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { download } from './download.js';

vi.mock('node:fs/promises', async (original) => {
  const whole = await original<typeof import('node:fs/promises')>();
  return { ...whole, link: vi.fn(whole.link), rename: vi.fn(whole.rename) };
});

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'download-'));
});
afterEach(async () => {
  vi.mocked(link).mockReset();
  vi.mocked(rename).mockReset();
  await rm(folder, { recursive: true });
});

describe('a download', () => {
  it.each([true, false])('can have the longest name of a file, with overwrite %s', async (overwrite) => {
    const name = `${'n'.repeat(251)}.csv`;
    const target = path.join(folder, name);
    await download({ name, open: async () => new Response('content') }, target, { overwrite });
    expect(await readdir(folder)).toEqual([name]);
    expect(await readFile(target, 'utf8')).toBe('content');
  });

  it('is saved on a file system without links, and replaces no file there', async () => {
    vi.mocked(link).mockImplementation(async () => {
      throw Object.assign(new Error('EPERM: operation not permitted, link'), { code: 'EPERM' });
    });
    const target = path.join(folder, 'a.txt');
    const save = (content: string) =>
      download({ name: 'a.txt', open: async () => new Response(content) }, target, { overwrite: false });
    await save('content');
    await expect(save('other')).rejects.toMatchObject({ code: 'EEXIST' });
    expect(await readdir(folder)).toEqual(['a.txt']);
    expect(await readFile(target, 'utf8')).toBe('content');
  });

  it('leaves nothing when it cannot get its name on a file system without links', async () => {
    vi.mocked(link).mockRejectedValue(new Error('EPERM: operation not permitted, link'));
    vi.mocked(rename).mockRejectedValue(new Error('EIO: i/o error, rename'));
    const target = path.join(folder, 'a.txt');
    const saved = download({ name: 'a.txt', open: async () => new Response('content') }, target, {
      overwrite: false,
    });
    await expect(saved).rejects.toThrow('EIO');
    expect(await readdir(folder)).toEqual([]);
  });

  it('goes on by another connection when one has fallen silent', async () => {
    const target = path.join(folder, 'a.txt');
    const froms: number[] = [];
    const open = async (from: number) => {
      froms.push(from);
      const headers = { 'content-length': String('content'.length - from) };
      if (from > 0) return new Response('content'.slice(from), { status: 206, headers });
      const silent = new ReadableStream({ start: (body) => body.enqueue(new TextEncoder().encode('con')) });
      return new Response(silent, { headers });
    };
    await download({ name: 'a.txt', open }, target, { overwrite: true, silenceMs: 300 });
    expect(await readFile(target, 'utf8')).toBe('content');
    expect(froms).toEqual([0, 3]);
  });
});
