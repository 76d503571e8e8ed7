import { describe, expect, it } from 'vitest';
import { isEsModule } from './script-kind.js';

describe('isEsModule', () => {
  it.each([
    "import fs from 'node:fs';",
    "import 'node:fs';",
    'export const a = 1;',
    'export {};',
    'const dir = import.meta.url;',
    'await Promise.resolve();',
    'await (async () => {})();',
    'await [1];',
    'for await (const x of []) {}',
    'if (true) { await 1; }',
    '#!/usr/bin/env node\nawait 1;',
  ])('sees a module in %j', (source) => expect(isEsModule(source)).toBe(true));

  it.each([
    '',
    "const fs = require('node:fs');",
    "import('node:fs').then(() => {});",
    'async function main() { await 1; }\nmain();',
    '(async () => { await 1; })();',
    'const text = "import x from y; await z";',
    '// export const a = 1;\nprint(1);',
    'return;',
    'with (Math) { print(PI); }',
    'var await = 1;',
    'x = 010;',
    "import x from 'y'; return;",
    'this is no JavaScript',
    '#!/usr/bin/env node\nprint(1);',
  ])('sees none in %j', (source) => expect(isEsModule(source)).toBe(false));
});
