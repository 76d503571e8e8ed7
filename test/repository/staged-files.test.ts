/** Packages contain compiled files of present sources, not those of removed and renamed ones. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../support/temporary-folder.js';

interface Staging {
  readonly root: string;
  readonly program: 'agent';
  readonly version: string;
  readonly folder: string;
  readonly addon: 'binary';
  readonly installation: 'DEBIAN';
}

const STAGE = new URL('../../deploy/package/stage.mjs', import.meta.url).href;
const WORKSPACES = {
  agent: 'agent',
  runner: 'packages/runner',
  'workbench-mujoco': 'packages/workbench-mujoco',
};

it('a compiled file without a source is not packed', async () => {
  const site = await temporaryFolder();
  onTestFinished(site.remove);
  const root = join(site.path, 'clone');
  const write = (path: string, text = '') => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  };
  const packages: Record<string, object> = { shared: { name: '@workbench-hub/shared' } };
  packages['node_modules/@workbench-hub/shared'] = { link: true, resolved: 'shared' };
  for (const [name, folder] of Object.entries(WORKSPACES)) {
    packages[folder] = { name: `@workbench-hub/${name}`, dependencies: { '@workbench-hub/shared': '*' } };
    write(`${folder}/package.json`, '{}');
    write(`${folder}/main.ts`);
    write(`${folder}/dist/main.js`);
  }
  write('package-lock.json', JSON.stringify({ packages }));
  write('LICENSE');
  write('shared/package.json', '{}');
  write('shared/dist/build-info.json', '{}');
  write('agent/engine/kept.cts');
  for (const file of ['engine/kept.cjs', 'engine/renamed.js', 'removed/gone.js']) write(`agent/dist/${file}`);

  const folder = join(site.path, 'package');
  const { stage } = (await import(STAGE)) as { stage: (options: Staging) => unknown };
  stage({ root, program: 'agent', version: '1.2.3', folder, addon: 'binary', installation: 'DEBIAN' });

  const compiled = join(folder, 'node_modules/@workbench-hub/agent/dist');
  expect(readdirSync(compiled, { recursive: true }).sort()).toEqual(['engine', 'engine/kept.cjs', 'main.js']);
  const told = join(folder, 'node_modules/@workbench-hub/shared/dist/build-info.json');
  expect(JSON.parse(readFileSync(told, 'utf8'))).toEqual({ version: '1.2.3', installation: 'DEBIAN' });
});
