/** Promises of the pages: each paragraph is in the list of its page, with what holds it, and each entry is on the page. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { FILE_PLACES } from '../promises/file-places.js';
import { POSTGRESQL } from '../promises/postgresql.js';
import { type Holder, type PagePromises, PROMISES_NOTHING } from '../promises/promises.js';
import { RELIABILITY } from '../promises/reliability.js';
import { SEVERAL_HUBS } from '../promises/several-hubs.js';
import { STORAGE } from '../promises/storage.js';
import { THREAT_MODEL } from '../promises/threat-model.js';
import { blocksOf } from '../support/pages/page-blocks.js';

const PAGES: readonly PagePromises[] = [
  RELIABILITY,
  THREAT_MODEL,
  SEVERAL_HUBS,
  POSTGRESQL,
  STORAGE,
  FILE_PLACES,
];
const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');

/** Names of the invariants that the simulation checks. */
function invariantNames(): ReadonlySet<string> {
  const folder = 'test/simulation';
  const names = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => [...read(join(folder, file)).matchAll(/(?:\bviolated\(\s*|\binvariant: )'([^']+)'/g)])
    .map(([, name]) => name ?? '');
  return new Set(names);
}

const invariants = invariantNames();

function missing(holder: Holder): string[] {
  if ('invariant' in holder)
    return invariants.has(holder.invariant) ? [] : [`no invariant "${holder.invariant}"`];
  let text: string;
  try {
    text = read(holder.file);
  } catch {
    return [`no file ${holder.file}`];
  }
  return text.includes(holder.title) ? [] : [`no "${holder.title}" in ${holder.file}`];
}

describe('a page is split into', () => {
  it('paragraphs, list items and rows', () => {
    const page =
      '# Head\nA b\nc.\n\n- one\n  more\n- two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n```sh\n- code\n```\nend\n1. first\n';
    expect(blocksOf(page)).toEqual(['A b c.', '- one more', '- two', '| 1 | 2 |', 'end', '1. first']);
  });
});

describe.each(PAGES)('$page', ({ page, blocks }) => {
  const onPage = blocksOf(read(page));
  const entriesOf = (block: string) => blocks.filter(({ begins }) => block.startsWith(begins));

  it('has no paragraph, list item or row that the list lacks or has twice', () => {
    expect(onPage.filter((block) => entriesOf(block).length !== 1)).toEqual([]);
  });

  it('has each entry of the list once', () => {
    const count = (begins: string) => onPage.filter((block) => block.startsWith(begins)).length;
    expect(blocks.filter(({ begins }) => count(begins) !== 1).map(({ begins }) => begins)).toEqual([]);
  });

  it('promises nothing without a test or an invariant that exists', () => {
    const wrong = blocks.flatMap(({ begins, heldBy }) => {
      if (heldBy === PROMISES_NOTHING) return [];
      return heldBy.length === 0 ? [`${begins}: nothing holds it`] : heldBy.flatMap(missing);
    });
    expect(wrong).toEqual([]);
  });
});
