/** The code blocks of README.md and the pages in packages/docs. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

export interface CodeBlock {
  /** Path from the root of the repository. */
  readonly page: string;
  readonly line: number;
  /** Empty for a block without one. */
  readonly language: string;
  readonly text: string;
}

/** All blocks of all pages, in their order. */
export function codeBlocks(): CodeBlock[] {
  const pages = readdirSync(join(ROOT, 'packages/docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('packages/docs', name))
    .sort();
  return ['README.md', ...pages].flatMap(blocksOf);
}

/** The only block of a page that contains these words. Throws when there is none, or another one. */
export function codeBlock(page: string, words: string): string {
  const found = blocksOf(page).filter(({ text }) => text.includes(words));
  if (found.length !== 1) throw new Error(`${page} has ${found.length} blocks with ${JSON.stringify(words)}`);
  return found[0]?.text ?? '';
}

/** Text with each of the words replaced; throws when one is not there. */
export function replaced(text: string, replacements: Readonly<Record<string, string>>): string {
  return Object.entries(replacements).reduce((all, [from, to]) => {
    if (!all.includes(from)) throw new Error(`there is no ${JSON.stringify(from)} in:\n${all}`);
    return all.replaceAll(from, to);
  }, text);
}

function blocksOf(page: string): CodeBlock[] {
  const content = readFileSync(join(ROOT, page), 'utf8');
  return [...content.matchAll(/^( *)```(\w*)\n([\s\S]*?)^ *```/gm)].map((match) => ({
    page,
    line: content.slice(0, match.index).split('\n').length,
    language: match[2] ?? '',
    text: match[3] ?? '',
  }));
}
