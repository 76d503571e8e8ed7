/** Checks of the programs that instances run. */
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { liesOnPath, searchPath } from '../runtime/find-program.js';
import { startedProgram } from '../runtime/single-file.js';
import { type Finding, fault, ok } from './finding.js';

export interface ConfiguredProgram {
  /** Id of the instance. */
  readonly id: string;
  /** Program and arguments. */
  readonly command: readonly string[];
  /** Added to the inherited environment. */
  readonly env: Readonly<Record<string, string>>;
}

/** Whether the program of each instance exists and may be executed. `directory` is that of a part of the product, beside whose modules its
 *  own programs are. */
export async function checkPrograms(
  instances: readonly ConfiguredProgram[],
  environment: Readonly<Record<string, string | undefined>>,
  directory: string,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { id, command, env } of instances) {
    const program = startedProgram(command);
    const check = `program of ${id}`;
    const why = await faultOf(program, searchPath(env['PATH'] ?? environment['PATH'], directory));
    if (why === undefined) findings.push(ok(check, program));
    else findings.push(fault(check, why, 'install it, or correct "command" of the instance'));
  }
  return findings;
}

async function faultOf(program: string, path: string): Promise<string | undefined> {
  if (program === basename(program)) {
    if (await liesOnPath(program, path)) return undefined;
    return `there is no ${JSON.stringify(program)} in PATH`;
  }
  const info = await stat(program).catch((error: NodeJS.ErrnoException) => error);
  if (info instanceof Error)
    return info.code === 'ENOENT' ? `there is no ${program}` : `${program} cannot be read (${info.code})`;
  if (!info.isFile()) return `${program} is not a file`;
  const isExecutable = await access(program, constants.X_OK).then(
    () => true,
    () => false,
  );
  return isExecutable ? undefined : `this user may not execute ${program}`;
}
