/** Each class of the console's stylesheets has one owner: a screen, the shell, or the design that all of them share. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';

/** Classes that a script looks for, and no stylesheet defines. */
const MARKS = [
  'path', // tests read the names of output files
  'remove-file', // the focus goes there when a file leaves the job
];

/** Classes of libraries. */
const FOREIGN = ['u-legend'];

const root = fileURLToPath(new URL('../../packages/console', import.meta.url));

/** Texts of files by their path in the console. */
type Files = Readonly<Record<string, string>>;

interface Part {
  /** Folder of a screen, or `shell`; otherwise `design`. */
  readonly owner: string;
  readonly selectors: readonly string[];
  readonly defined: readonly string[];
  /** Words that are given to `className`, and to the columns of a table. One that ends in `*` is a beginning, such as `curve-*`. */
  readonly used: readonly string[];
  /** The same of all strings, where each may become a class. */
  readonly said: readonly string[];
}

function partOf([path, text]: [string, string]): Part {
  const [owner = 'design'] = /^(?:screens\/[^/]+|shell)(?=\/)/.exec(path) ?? [];
  if (path.endsWith('.css')) {
    const preludes = preludesOf(text);
    const defined = preludes.flatMap(classesIn);
    return { owner, selectors: preludes.flatMap(selectorsOf), defined, used: [], said: [] };
  }
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const used = wordsGivenTo(/^(?:className|columns)$/, source);
  const said = /words-\w+\.ts$/.test(path) ? [] : wordsIn(source).filter((word) => /^[^*]+$|-\*$/.test(word));
  return { owner, selectors: [], defined: [], used, said };
}

/** Preludes of the rules: all that stands before a brace, without at-rules and steps of animations. */
function preludesOf(text: string): string[] {
  const preludes = text.replace(/\/\*.*?\*\//gs, '').matchAll(/([^{};]+)\{/g);
  return [...preludes]
    .map(([, prelude = '']) => prelude.trim())
    .filter((prelude) => !/^(?:@|from$|to$|[\d.]+%)/.test(prelude));
}

/** Selectors of a rule, one for each alternative, without conditions that only narrow them. */
function selectorsOf(prelude: string): string[] {
  return alternatives(prelude.replace(/:(?:not|has)\((?:[^()]|\([^()]*\))*\)/g, ''));
}

/** `a, b:is(c, d)` as `a`, `bc` and `bd`. */
function alternatives(selectors: string): string[] {
  return selectors.split(/,(?![^(]*\))/).flatMap((selector) => {
    const [whole, choice] = /:is\(([^()]*)\)/.exec(selector) ?? [];
    if (whole === undefined) return [selector.trim()];
    return alternatives(choice ?? '').flatMap((each) => alternatives(selector.replace(whole, each)));
  });
}

function classesIn(selector: string): string[] {
  return [...selector.matchAll(/\.([a-z][\w-]*)/gi)].map(([, name = '']) => name);
}

function wordsGivenTo(attributes: RegExp, node: ts.Node): string[] {
  if (ts.isJsxAttribute(node) && attributes.test(node.name.getText())) return wordsIn(node);
  return childrenOf(node).flatMap((child) => wordsGivenTo(attributes, child));
}

/** Words of the strings in a node, without those that are only compared. */
function wordsIn(node: ts.Node): string[] {
  if (ts.isBinaryExpression(node) && /^[!=]==$/.test(node.operatorToken.getText())) return [];
  if (ts.isStringLiteralLike(node) || ts.isTemplateTail(node)) return node.text.match(/\S+/g) ?? [];
  if (ts.isTemplateHead(node) || ts.isTemplateMiddle(node)) {
    return `${node.text}*`.match(/[^\s*]+\*?/g) ?? [];
  }
  return childrenOf(node).flatMap(wordsIn);
}

function childrenOf(node: ts.Node): ts.Node[] {
  const children: ts.Node[] = [];
  ts.forEachChild(node, (child) => void children.push(child));
  return children;
}

function matches(name: string, words: ReadonlySet<string>): boolean {
  return (
    words.has(name) || [...words].some((word) => word.endsWith('*') && name.startsWith(word.slice(0, -1)))
  );
}

/** Sentences about classes that reach beyond their owner, or that have nothing at their other end. */
function faultsOf(files: Files): string[] {
  const parts = Object.entries(files).map(partOf);
  const owners = [...new Set(parts.map(({ owner }) => owner))];
  const collect = (words: (part: Part) => readonly string[]) =>
    new Map(
      owners.map((owner) => [owner, new Set(parts.filter((part) => part.owner === owner).flatMap(words))]),
    );
  const defined = collect((part) => part.defined);
  const used = collect((part) => part.used);
  const said = new Set(parts.flatMap((part) => part.said));
  const isOwn = (owner: string, name: string) =>
    owners.every(
      (other) =>
        other === owner || !(defined.get(other)?.has(name) || matches(name, used.get(other) ?? new Set())),
    );
  const isDefinedFor = (owner: string, word: string) => {
    const names = [...(defined.get(owner) ?? []), ...(defined.get('design') ?? []), ...MARKS];
    return names.some((name) => matches(name, new Set([word])));
  };
  return [
    ...parts.flatMap(({ owner, selectors }) =>
      selectors
        .filter((selector) => owner !== 'design' && !classesIn(selector).some((name) => isOwn(owner, name)))
        .map((selector) => `${owner}: "${selector}" has no class that is the folder's own`),
    ),
    ...owners.flatMap((owner) =>
      [...(used.get(owner) ?? [])]
        .filter((word) => !isDefinedFor(owner, word))
        .map((word) => `${owner}: "${word}" is used, and neither the folder nor the design defines it`),
    ),
    ...owners.flatMap((owner) =>
      [...(defined.get(owner) ?? [])]
        .filter((name) => !FOREIGN.includes(name) && !matches(name, said))
        .map((name) => `${owner}: "${name}" is defined, and nothing has it`),
    ),
  ];
}

describe('a class', () => {
  const house: Files = {
    'design/base.css': '.button:not(.plain) { color: red }',
    'design/button.tsx': '<button className="button plain" />;',
    'screens/one/one.css':
      '@media print { .tile :is(.button, .plain) { top: 0 } .tile.large, .at-top { top: 0 } }',
    'screens/one/tile.tsx': `<p className={\`tile \${kind === 'wide' ? 'large' : ''} at-\${kind}\`} />;`,
    'screens/two/two.tsx': '<a className="button" />;',
  };

  it('may be narrowed, chosen and put together by its owner', () => {
    expect(faultsOf(house)).toEqual([]);
  });

  it.each([
    ['a style that reaches other screens', 'screens/one/x.css', '.tile, .button p { top: 0 }'],
    ['a style without a class', 'shell/shell.css', 'main { top: 0 }'],
    ['a class of two screens', 'screens/two/two.css', '.tile { top: 0 }'],
    ['a screen that uses a class of another', 'screens/two/x.tsx', '<a className="tile" />;'],
    ['a screen that makes a name of another', 'screens/two/x.tsx', `<a className={\`at-\${side}\`} />;`],
    ['a design that uses a class of a screen', 'design/x.tsx', '<a className="tile" />;'],
    ['a class that is only used', 'screens/two/x.tsx', "<a className={isOpen ? 'open' : ''} />;"],
    ['a class that is only defined', 'design/x.css', '.lost { top: 0 }'],
  ])('would be found: %s', (_, path, text) => {
    expect(faultsOf({ ...house, [path]: text })).not.toEqual([]);
  });
});

it('every class of the console has its owner', () => {
  const paths = execFileSync('git', ['-c', 'safe.directory=*', 'ls-files', '-z'], {
    cwd: root,
    encoding: 'utf8',
  })
    .split('\0')
    .filter((path) => /(?<!\.test)\.(?:css|tsx?)$/.test(path) && existsSync(join(root, path)));
  const files = Object.fromEntries(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
  expect(paths.filter((path) => path.endsWith('.css')).length).toBeGreaterThan(10);
  expect(faultsOf(files)).toEqual([]);
});
