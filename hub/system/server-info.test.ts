import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { describe, expect, it } from 'vitest';
import { formatUptime, serverInfo } from './server-info.js';

describe('formatUptime', () => {
  it.each([
    [0.9, '0 s'],
    [61, '1 min 1 s'],
    [3600, '1 h 0 min 0 s'],
    [2 * 86_400 + 3 * 3600 + 4 * 60 + 5, '2 d 3 h 4 min 5 s'],
  ])('writes %d s as %s', (seconds, text) => expect(formatUptime(seconds)).toBe(text));
});

describe('serverInfo', () => {
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
