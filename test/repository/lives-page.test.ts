/** The page about lives says what the tables in the code say. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { livesAsText } from '../support/lives.js';

const page = readFileSync(new URL('../../packages/docs/lives.md', import.meta.url), 'utf8');

it.each(Object.entries(livesAsText()))(
  'the page about lives shows that of the %s as it is in the code',
  (name, text) => {
    const begin = `<!-- life: ${name} -->\n`;
    expect(page).toContain(begin);
    const after = page.slice(page.indexOf(begin) + begin.length);
    expect(after.slice(0, after.indexOf('<!-- end -->')).trim()).toBe(text);
  },
);
