/** The installer of the agent on Windows (Wine); `npm run test:windows` runs this test where it can make one. */
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import { expect, it } from 'vitest';
import { agent, windowsHost } from './windows-host.js';

const INSTALLER = agent.replace(/\.exe$/, '.msi');
const PROGRAM = 'C:\\Program Files\\Workbench agent\\workbench-agent.exe';

const host = windowsHost();

it.runIf(existsSync(INSTALLER))('installs the agent without questions, and removes it again', async () => {
  const { ended } = host.session(`at="$(dirname ${INSTALLER})"; cd "$at"
wine msiexec /i ${basename(INSTALLER)} /qn; echo "installed $?" > ${host.folder}/steps.txt
wine '${PROGRAM}' --version >> ${host.folder}/steps.txt 2>&1
wine msiexec /x ${basename(INSTALLER)} /qn; echo "removed $?" >> ${host.folder}/steps.txt
wine '${PROGRAM}' --version > ${host.folder}/gone.txt 2>&1; echo "gone $?" >> ${host.folder}/steps.txt`);
  await ended;
  const steps = readFileSync(join(host.folder, 'steps.txt'), 'utf8').trim().split(/\r?\n/);
  expect(steps).toEqual([
    'installed 0',
    buildInfo.version,
    'removed 0',
    expect.stringMatching(/^gone [1-9]/),
  ]);
});
