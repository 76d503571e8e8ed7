import { describe, expect, test } from 'vitest';
import { attemptReport, filesOfReport } from './reports.js';

const REF = { taskId: 'task', attempt: 2, instanceId: 'sim' };
const FILE = { digest: 'aa', sizeBytes: 1 };

describe('a report', () => {
  test('names its blobs, each once', () => {
    const report = attemptReport(
      REF,
      { outcome: 'OK', message: null },
      {
        outputFiles: [
          { path: 'a', ...FILE },
          { path: 'b', ...FILE },
        ],
        log: { digest: 'bb', sizeBytes: 2 },
        storedFiles: [
          { path: 'a', ...FILE },
          { path: 'c', digest: 'cc', sizeBytes: 3 },
        ],
      },
    );
    expect(filesOfReport(report)).toEqual([
      FILE,
      { digest: 'cc', sizeBytes: 3 },
      { digest: 'bb', sizeBytes: 2 },
    ]);
  });

  test('names the blobs of a checkpoint, and leaves out one of more files than a message can list', () => {
    const returned = { outcome: 'RETURNED', message: 'stopping' } as const;
    const reportOf = (count: number) => {
      const checkpoint = Array.from({ length: count }, (_, index) => ({ path: `f${index}`, ...FILE }));
      return attemptReport(REF, returned, { outputFiles: [], log: null, checkpoint });
    };
    expect(reportOf(2).checkpoint?.map(({ path }) => path)).toEqual(['f0', 'f1']);
    expect(filesOfReport(reportOf(2))).toEqual([FILE]);
    expect(reportOf(0).checkpoint).toEqual([]);
    expect(reportOf(100_000)).toEqual({ ...REF, ...returned, outputFiles: [], log: null });
  });

  test('has a message of limited length', () => {
    expect(attemptReport(REF, { outcome: 'FAILED', message: 'x'.repeat(20_000) }).message).toHaveLength(
      10_000,
    );
  });

  test('of more files than one message can list becomes a failure that says so', () => {
    const files = Array.from({ length: 100_000 }, (_, index) => ({ path: `f${index}`, ...FILE }));
    const both = { outputFiles: files, storedFiles: files, log: null };
    expect(attemptReport(REF, { outcome: 'OK', message: null }, both)).toEqual({
      ...REF,
      outcome: 'FAILED',
      message: 'the job left 200000 output files, more than a result can list',
      outputFiles: [],
      log: null,
    });
  });
});
