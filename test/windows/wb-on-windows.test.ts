/** `wb` on Windows (Wine) with a hub on Linux; `npm run test:windows` runs this test. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import { expect, it } from 'vitest';
import { windowsHost } from './windows-host.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

const { nodeBinary } = (await import(
  new URL('../../deploy/package/one-file/node-binary.mjs', import.meta.url).href
)) as { nodeBinary(system: string): { readonly program: string } };

const host = windowsHost();

it('logs in, runs a job with a folder of files, shows what it printed and saves its outputs', async () => {
  host.configure();
  const at = (name: string) => join(host.folder, name);
  mkdirSync(at('inputs/länge'), { recursive: true });
  writeFileSync(at('inputs/länge/in.txt'), 'steel');
  writeFileSync(
    at('job.js'),
    `const { mkdirSync, readFileSync, writeFileSync } = require('node:fs');
mkdirSync('out', { recursive: true });
writeFileSync('out/größe.txt', readFileSync('inputs/länge/in.txt', 'utf8') + load);
console.log('Grüße from ' + process.platform);`,
  );
  const wb = (words: string, name: string) => `wb ${words} > ${name}.txt 2>&1; echo "exit $?" >> ${name}.txt`;
  // Both are in one session: Windows ends with the first one that does.
  host.session(
    `agent --config agent.yaml >> agent.log 2>&1 &
until [ -e ready ]; do sleep 0.05; done
export WB_PROFILES='Z:${at('profiles.json')}'
wb() { wine ${nodeBinary('win-x64').program} ${ROOT}/packages/cli/bin/wb.js "$@"; }
${wb('--version', 'version')}
${wb(`login ${host.address}`, 'login')}
${wb("run --script job.js --file inputs --var load=42 --label node --out 'results\\deep'", 'run')}
${wb('tasks', 'tasks')}
${wb('instances', 'instances')}
unset WB_PROFILES
${wb(`login ${host.address}`, 'again')}
find "$WINEPREFIX/drive_c/users" -name profiles.json > profiles.txt
touch done; wait`,
    [ROOT],
  );
  await host.ready();
  writeFileSync(at('ready'), '');
  await expect.poll(() => existsSync(at('done')), { timeout: 120_000 }).toBe(true);

  const printed = (name: string) => readFileSync(at(`${name}.txt`), 'utf8').replaceAll('\r\n', '\n');
  expect(printed('version')).toBe(`${buildInfo.version}\nexit 0\n`);
  expect(printed('login')).toMatch(/exit 0\n$/);
  expect(existsSync(at('profiles.json'))).toBe(true);
  expect(printed('run')).toMatch(/Grüße from win32\n[\s\S]*exit 0\n$/);
  expect(readFileSync(at('results/deep/out/größe.txt'), 'utf8')).toBe('steel42');
  expect(printed('tasks')).toMatch(/FINISHED[\s\S]*exit 0\n$/);
  expect(printed('instances')).toMatch(/node[\s\S]*exit 0\n$/);
  expect(printed('again')).toMatch(/exit 0\n$/);
  expect(printed('profiles')).toMatch(/\/AppData\/Roaming\/workbench-hub\/profiles\.json\n$/);
});
