// A clone must not contain addresses of one registry or paths of one machine.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const files = execFileSync('git', ['-c', 'safe.directory=*', 'ls-files', '-z'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\0')
  .filter((file) => file !== '' && existsSync(join(root, file)));

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

/** Lines that match, as file:line. A file with a NUL character is no text and is left out. */
function find(pattern: RegExp): string[] {
  return files.flatMap((file) => {
    const text = read(file);
    if (text.includes('\0') || !pattern.test(text)) return [];
    return text.split('\n').flatMap((line, index) => (pattern.test(line) ? [`${file}:${index + 1}`] : []));
  });
}

describe('tracked files', () => {
  it('name no absolute path of the machine they were written on', () => {
    expect(find(/(?<![\w.\-/])\/(?:work|root)\//)).toEqual([]);
  });
});

describe('the lock file', () => {
  it('has no download addresses, so that any registry or mirror works', () => {
    expect(read('package-lock.json')).not.toMatch(/"resolved": "(?:https?|git)/);
  });

  it('knows every package by its digest', () => {
    const { packages } = JSON.parse(read('package-lock.json')) as {
      packages: Record<string, { integrity?: string; link?: boolean }>;
    };
    const unknown = Object.entries(packages).filter(
      ([path, entry]) => path.includes('node_modules/') && !entry.link && !entry.integrity,
    );
    expect(unknown.map(([path]) => path)).toEqual([]);
  });
});
