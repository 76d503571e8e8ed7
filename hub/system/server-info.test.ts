import os from 'node:os';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { formatUptime, serverInfo } from './server-info.js';

describe('formatUptime', () => {
  it.each([
    [0.9, '0 s'],
    [61, '1 min 1 s'],
    [3600, '1 h 0 min 0 s'],
    [2 * 86_400 + 3 * 3600 + 4 * 60 + 5, '2 d 3 h 4 min 5 s'],
  ])('writes %d s as %s', (seconds, text) => expect(formatUptime(seconds)).toBe(text));
});

afterEach(() => void vi.restoreAllMocks());

describe('serverInfo', () => {
  it('names an account without a name by its number, and no folder that was removed', () => {
    vi.spyOn(os, 'userInfo').mockImplementation(() => {
      throw new Error('uv_os_get_passwd returned ENOENT (no such file or directory)');
    });
    vi.spyOn(process, 'cwd').mockImplementation(() => {
      throw new Error('ENOENT: no such file or directory, uv_cwd');
    });
    const build = { version: '1', revision: 'r', buildDate: 'd', vendor: 'v' };
    const { systemInfo } = serverInfo(build, systemRuntime.clock, { totalBytes: 1000, freeBytes: 250 });
    expect(systemInfo).toMatchObject({ userName: `uid ${process.getuid?.()}`, userDir: '' });
  });

  it('returns consistent values', () => {
    const build = { version: '1', revision: 'r', buildDate: 'd', vendor: 'v' };
    const info = serverInfo(build, systemRuntime.clock, { totalBytes: 1000, freeBytes: 250 });
    expect(info.diskSpaceInfo).toEqual({
      total: 1000,
      used: 750,
      free: 250,
      totalFormatted: '1000 B',
      usedFormatted: '750 B',
      freeFormatted: '250 B',
      freePercentage: 25,
    });
    expect(info.memoryInfo.total).toBe(info.memoryInfo.used + info.memoryInfo.free);
    expect(info.systemInfo.javaVersion).toBe(process.versions.node);
  });

  it('does not divide by zero', () => {
    const build = { version: '1', revision: 'r', buildDate: 'd', vendor: 'v' };
    const { freePercentage } = serverInfo(build, systemRuntime.clock, {
      totalBytes: 0,
      freeBytes: 0,
    }).diskSpaceInfo;
    expect(freePercentage).toBe(0);
  });
});
