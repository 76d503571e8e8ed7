import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { portable } from './portable.js';
import { lockDataDir } from './single-instance.js';

afterEach(() => vi.restoreAllMocks());

const refuseSignals = (code: string) =>
  vi.spyOn(process, 'kill').mockImplementation(() => {
    throw Object.assign(new Error(`kill ${code}`), { code });
  });

it('identifies a process of another user, and none that has ended', () => {
  refuseSignals('EPERM');
  expect(portable.identify(4711)).toBe('4711');
  expect(portable.signalGroup(4711, 'SIGTERM')).toBe(false);
  vi.restoreAllMocks();
  refuseSignals('ESRCH');
  expect(portable.identify(4711)).toBeUndefined();
});

it('leaves a data directory to an agent of another user', () => {
  const directory = mkdtempSync(join(tmpdir(), 'portable-test-'));
  try {
    writeFileSync(join(directory, 'agent.lock'), '4711');
    refuseSignals('EPERM');
    expect(() => lockDataDir(directory, portable)).toThrow('in use by another agent (process 4711)');
  } finally {
    rmSync(directory, { recursive: true });
  }
});
