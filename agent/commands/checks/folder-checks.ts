/** Checks of the folders of this agent, and of those that it opens to jobs. */
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Finding, faultWithRemedy, ok, warning } from '@workbench-hub/shared/checks/finding';
import { checkDataFolder, checkWritable } from '@workbench-hub/shared/checks/folder-checks';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import { type AgentConfig, logFileOf } from '../../config.js';
import { readNodeId } from '../../disk/node-id.js';

/** As core/disk-space.ts judges the disk of a failed job. */
const FULL_BELOW_BYTES = 16 * 1024 * 1024;

/** Subfolders of dataDir. */
const FOLDERS = ['cache', 'work', 'spool'];

/** Whether this user can write dataDir, its subfolders and the log file, and whether there is space. */
export async function checkAgentFolders(config: AgentConfig): Promise<Finding[]> {
  const dataDir = resolve(config.dataDir);
  const existing = await checkDataFolder({
    dataDir,
    program: 'agent',
    fullBelowBytes: FULL_BELOW_BYTES,
    spaceAdvice: 'free space: shrink limits.fileCache, or use a larger disk',
  });
  const findings = existing?.findings ?? (await checkWritable('dataDir', dataDir, 'folder', 'agent'));
  if (existing?.isUsable) {
    for (const name of FOLDERS)
      findings.push(...(await checkWritable('dataDir', join(dataDir, name), 'folder', 'agent')));
    findings.push(...(await checkNodeId(dataDir)));
  }
  return [...findings, ...(await checkWritable('log.file', resolve(logFileOf(config)), 'file', 'agent'))];
}

async function checkNodeId(dataDir: string): Promise<Finding[]> {
  try {
    await readNodeId(dataDir);
    return [];
  } catch (error) {
    if (!(error instanceof StartRefused)) throw error;
    return [faultWithRemedy('dataDir', error.message)];
  }
}

/** Whether the folders of models exist that `fileRoots` and `uncMounts` name. */
export async function checkModelFolders({ fileRoots, uncMounts }: AgentConfig): Promise<Finding[]> {
  const named = [
    ...fileRoots.map((path) => ({ check: 'fileRoots', path })),
    ...Object.values(uncMounts).map((path) => ({ check: 'uncMounts', path })),
  ];
  const findings: Finding[] = [];
  for (const { check, path } of named) {
    const why = await unreadable(path);
    if (why === undefined) findings.push(ok(check, `this user can read ${path}`));
    else
      findings.push(
        warning(check, why, 'mount it, or correct its rights: jobs with models there fail until then'),
      );
  }
  return findings;
}

async function unreadable(path: string): Promise<string | undefined> {
  const info = await stat(path).catch(() => undefined);
  if (info === undefined) return `there is no ${path}`;
  if (!info.isDirectory()) return `${path} is not a folder`;
  return access(path, constants.R_OK | constants.X_OK).then(
    () => undefined,
    () => `this user cannot read ${path}`,
  );
}
