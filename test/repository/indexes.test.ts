/** The index of the decisions has a row for each. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const PAGES = fileURLToPath(new URL('../../packages/docs', import.meta.url));
const DECISIONS = join(PAGES, 'decisions');
const read = (folder: string, file: string) => readFileSync(join(folder, file), 'utf8');
const pagesIn = (folder: string) =>
  readdirSync(folder).filter((file) => file.endsWith('.md') && file !== 'README.md');

describe('the index of the decisions', () => {
  const rows = read(DECISIONS, 'README.md')
    .split('\n')
    .filter((line) => /^\| \[/.test(line));

  it('has one row for each decision, with its exact title', () => {
    const expected = pagesIn(DECISIONS).map((file) => {
      const [, number, title] = /^# (\d{4}): (.+)$/m.exec(read(DECISIONS, file)) ?? [];
      expect(file.slice(0, 5)).toBe(`${number}-`);
      return `| [${number}](${file}) | ${title} |`;
    });
    expect(rows.toSorted()).toEqual(expected.toSorted());
  });
});
