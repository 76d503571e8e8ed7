import { mkdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { productFolders, searchPath } from './find-program.js';

let top: string;
beforeEach(async () => {
  top = await mkdtemp(join(tmpdir(), 'find-program-'));
});
afterEach(() => rm(top, { recursive: true }));

/** Makes folders below the temporary one. */
const make = (...folders: string[]) => {
  for (const folder of folders) mkdirSync(join(top, folder), { recursive: true });
};
const found = (directory: string) =>
  productFolders(join(top, directory)).map((folder) => folder.slice(top.length + 1));

describe('the folders of the programs of the product', () => {
  it('are beside its modules, and not those of folders above, which may belong to anybody', () => {
    make('product/agent/process', 'product/node_modules/@workbench-hub', 'product/node_modules/.bin');
    make('node_modules/.bin', 'product/agent/node_modules/.bin');
    expect(found('product/agent/process')).toEqual(['product/node_modules/.bin']);
  });

  it('are also those of node_modules in which it is installed', () => {
    make('app/node_modules/workbench-agent/node_modules/@workbench-hub/agent/dist', 'node_modules/.bin');
    expect(found('app/node_modules/workbench-agent/node_modules/@workbench-hub/agent/dist')).toEqual([
      'app/node_modules/workbench-agent/node_modules/.bin',
      'app/node_modules/.bin',
    ]);
  });

  it('come first in the search path, and the folder of this Node last', () => {
    make('product/node_modules/@workbench-hub');
    const folders = [join(top, 'product/node_modules/.bin'), '/a', '/b', dirname(process.execPath)];
    expect(searchPath(`/a${delimiter}/b`, join(top, 'product'))).toBe(folders.join(delimiter));
    expect(searchPath(undefined, join(top, 'product'))).toBe([folders[0], folders[3]].join(delimiter));
  });
});
