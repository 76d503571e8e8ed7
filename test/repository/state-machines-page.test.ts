/** Comparison of the state machines page with the tables in the code. */
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { stateMachinesAsText } from '../support/engine/state-machines.js';

const page = readFileSync(new URL('../../packages/docs/state-machines.md', import.meta.url), 'utf8');

it.each(Object.entries(stateMachinesAsText()))(
  'the page shows the state machine of the %s as it is in the code',
  (name, text) => {
    const begin = `<!-- states: ${name} -->\n`;
    expect(page).toContain(begin);
    const after = page.slice(page.indexOf(begin) + begin.length);
    expect(after.slice(0, after.indexOf('<!-- end -->')).trim()).toBe(text);
  },
);
