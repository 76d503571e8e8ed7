/** Folders with files of the agent, as `npm run package -- --only file` fills them. */
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';

/** Makes a folder with this program in place of the agent of the hub's version for a system; returns its name and digest. */
export function offerAgentFile(
  folder: string,
  program: string | Buffer,
  system = 'linux-x64',
): { readonly name: string; readonly digest: string } {
  const name = `workbench-agent-${buildInfo.version}-${system}`;
  const digest = createHash('sha256').update(program).digest('hex');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), program);
  writeFileSync(join(folder, 'SHA256SUMS'), `${digest}  ${name}\n`);
  return { name, digest };
}
