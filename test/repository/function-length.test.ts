/** Functions of product code have at most 80 lines, so that each fits on a screen or two. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, it } from 'vitest';

const MAX_LINES = 80;

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The product and its build scripts, without generated code, tests and their helpers. */
const FOLDERS = ['agent', 'deploy', 'hub', 'packages', 'shared'];
const NOT_READ = /^packages\/client\/generated\/|\.test\.ts$|\/fixtures\/|-under-test\.ts$/;

const files = execFileSync('git', ['-c', 'safe.directory=*', 'ls-files', '-z', ...FOLDERS], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\0')
  .filter(
    (file) => /\.(?:[cm]?[jt]s|tsx)$/.test(file) && !NOT_READ.test(file) && existsSync(join(root, file)),
  );

/** Functions, methods and accessors that are too long, as file:line with the number of lines. */
function longFunctions(file: string, text: string): string[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const lineAt = (position: number) => source.getLineAndCharacterOfPosition(position).line;
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node)) {
      const first = lineAt(node.getStart(source));
      const lines = lineAt(node.end) - first + 1;
      if (lines > MAX_LINES) found.push(`${file}:${first + 1} has ${lines} lines`);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

it.each([
  ['a declaration', (body: string) => `function long() {${body}}`, 'long.ts'],
  ['an arrow function', (body: string) => `const long = () => {${body}};`, 'long.ts'],
  ['a method', (body: string) => `class Long { long() {${body}} }`, 'long.ts'],
  ['a component', (body: string) => `const Long = () => <p>${body}</p>;`, 'long.tsx'],
])('%s that is too long would be found', (_, functionWith, file) => {
  const ofLines = (lines: number) => functionWith('\n'.repeat(lines - 1));
  expect(longFunctions(file, ofLines(MAX_LINES))).toEqual([]);
  expect(longFunctions(file, ofLines(MAX_LINES + 1))).toEqual([`${file}:1 has 81 lines`]);
});

it('no function is too long', () => {
  expect(files.length).toBeGreaterThan(100);
  expect(files.filter((file) => file.endsWith('.tsx')).length).toBeGreaterThan(50);
  expect(files.flatMap((file) => longFunctions(file, readFileSync(join(root, file), 'utf8')))).toEqual([]);
});
