/** The index of the decisions has a row for each, and that of the pages a link to each. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { linksOf } from '../support/pages/references.js';

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

describe('the index of the pages', () => {
  it('leads to each page once', () => {
    const links = linksOf(read(PAGES, 'README.md').replace(/^## To write a page[\s\S]*/m, ''));
    const pages = [
      ...pagesIn(PAGES),
      ...['contract', 'contributing', 'decisions'].map((folder) => `${folder}/README.md`),
    ];
    expect(links.filter((link) => !link.startsWith('../')).toSorted()).toEqual(pages.toSorted());
  });

  it('of the contributors leads to each checklist', () => {
    const folder = join(PAGES, 'contributing');
    expect(linksOf(read(folder, 'README.md'))).toEqual(expect.arrayContaining(pagesIn(folder)));
  });
});
