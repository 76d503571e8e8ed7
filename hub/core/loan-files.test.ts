import { expect, it } from 'vitest';
import { asLoanFiles, fromLoanFiles } from './loan-files.js';

const file = (path: string) => ({ path, digest: '0'.repeat(64), sizeBytes: 1 });

it('tells stored files from outputs again, whatever the names of the outputs are', () => {
  const outputFiles = ['a.txt', '.output-storage/a.txt', 'output-storage/b/c.txt'].map(file);
  const storedFiles = ['a.txt', 'field.bin'].map(file);
  expect(fromLoanFiles(asLoanFiles(outputFiles, storedFiles))).toEqual({ outputFiles, storedFiles });
});
