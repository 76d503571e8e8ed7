/** References between files: sections of the contract, decision records, links and paths. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import {
  anchorsOf,
  brokenSectionNumbers,
  contractSections,
  decisionsNamed,
  linksOf,
  pathsNamed,
  sectionsNamed,
  sourcesNamed,
} from '../support/pages/references.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const tracked = execFileSync('git', ['-c', 'safe.directory=*', 'ls-files', '-z'], {
  cwd: root,
  encoding: 'utf8',
}).split('\0');
const files = tracked
  .filter(
    (file) => /\.(?:ts|js|mjs|cjs|md|ya?ml|json|sh|service)$/.test(file) && existsSync(join(root, file)),
  )
  .filter((file) => !/package-lock\.json$|references(?:\.test)?\.ts$/.test(file))
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
const pages = files.filter(({ path }) => path.endsWith('.md'));
const contractPages = pages.filter(({ path }) => /^packages\/docs\/contract\/\d+-/.test(path));

/** Every reference that `broken` accepts, as "file: reference". */
function brokenReferences(
  from: readonly { path: string; text: string }[],
  named: (text: string) => string[],
  broken: (reference: string, path: string) => boolean,
): string[] {
  return from.flatMap(({ path, text }) =>
    named(text).flatMap((reference) => (broken(reference, path) ? [`${path}: ${reference}`] : [])),
  );
}

describe('in a text', () => {
  it('sections of the contract are found, in lists and over the lines of a comment', () => {
    const text =
      '(contract 2.9, 8.7 and 12.10; RFC 9110, 14.2) as contract\n *  3.1 to 3.4 say, not contracts 4.1';
    expect(sectionsNamed(text)).toEqual(['2.9', '8.7', '12.10', '3.1', '3.4']);
  });

  it('decision records are found, by number and by file', () => {
    const text = '[decisions 0027](decisions/0030-short.md) and decision 0008, not decisions 3';
    expect(decisionsNamed(text)).toEqual(['0027', '0030', '0008']);
  });

  it('links and paths are found outside of code, and headings have the anchors of GitHub', () => {
    const page =
      '# A `b` & C: d\n## Links\n## Links\n```sh\n# no [link](x.md)\n```\n[e](f.md#g) `[h](i.md)` `hub/j.ts`\n';
    expect(linksOf(page)).toEqual(['f.md#g']);
    expect(pathsNamed(page)).toEqual(['hub/j.ts']);
    expect(sourcesNamed('`a/b.ts`, `b.ts`, `a/b/`, `/a/b/`, `<a>/b/`, `b.md`')).toEqual([
      'a/b.ts',
      'b.ts',
      'a/b/',
    ]);
    expect([...anchorsOf(page)]).toEqual(['a-b--c-d', 'links', 'links-1']);
  });

  it('sections out of order, twice or of another page are broken', () => {
    const page = '# 2 Tasks\n## 2.2 A\n## 2.4 B\n## 2.4 C\n## 3.5 D\n## E\n## 2.9 F\n';
    expect(brokenSectionNumbers('2-tasks.md', page)).toEqual([
      '2-tasks.md: ## 2.4 C',
      '2-tasks.md: ## 3.5 D',
      '2-tasks.md: ## E',
    ]);
  });
});

describe('the pages of the contract', () => {
  it('number their sections by page, in order, each once', () => {
    expect(contractPages.length).toBeGreaterThan(0);
    expect(contractPages.flatMap(({ path, text }) => brokenSectionNumbers(basename(path), text))).toEqual([]);
  });
});

describe('references', () => {
  it('to the contract name a section that exists', () => {
    const sections = new Set(contractPages.flatMap(({ text }) => contractSections(text)));
    expect(brokenReferences(files, sectionsNamed, (section) => !sections.has(section))).toEqual([]);
  });

  it('name no section of an external document', () => {
    const elsewhere = /\bspecification,? (?:part )?\d|\bdecisions (?:part )?\d(?!\d{3})/gi;
    const named = (text: string) => text.match(elsewhere) ?? [];
    expect(named('(specification 4.1) and decisions 3, as decisions 0027 say')).toHaveLength(2);
    expect(brokenReferences(files, named, () => true)).toEqual([]);
  });

  it('to decision records name a record that exists', () => {
    const records = new Set(
      pages.flatMap(({ path }) => /^packages\/docs\/decisions\/(\d{4})-/.exec(path)?.[1] ?? []),
    );
    expect(brokenReferences(files, decisionsNamed, (record) => !records.has(record))).toEqual([]);
  });

  it('by link lead to a file, and to a heading in it', () => {
    const anchors = new Map(pages.map(({ path, text }) => [path, anchorsOf(text)]));
    const isBroken = (link: string, path: string) => {
      const [target = '', anchor] = link.split('#');
      const file = target === '' ? path : join(dirname(path), decodeURIComponent(target));
      if (!existsSync(join(root, file))) return true;
      return anchor !== undefined && !anchors.get(file)?.has(anchor);
    };
    expect(brokenReferences(pages, linksOf, isBroken)).toEqual([]);
  });

  it('by path lead to a file or folder', () => {
    // Decisions and the change log tell of what was.
    const present = pages.filter(({ path }) => !/^packages\/docs\/decisions\/\d|^CHANGELOG/.test(path));
    expect(present.map(({ path }) => path)).toContain('packages/docs/architecture.md');
    expect(brokenReferences(present, pathsNamed, (path) => !existsSync(join(root, path)))).toEqual([]);
  });

  it('in the README of a folder lead to files and folders in it, or from the root', () => {
    const readmes = pages.filter(({ path }) => /^(?!packages\/docs\/).+\/README\.md$/.test(path));
    expect(readmes.map(({ path }) => path)).toContain('hub/engine/README.md');
    const isBroken = (source: string, readme: string) => {
      if (existsSync(join(root, source)) || existsSync(join(root, dirname(readme), source))) return false;
      const folder = `${dirname(readme)}/`;
      return !tracked.some((file) => file.startsWith(folder) && file.includes(`/${source}`));
    };
    expect(brokenReferences(readmes, sourcesNamed, isBroken)).toEqual([]);
  });
});
