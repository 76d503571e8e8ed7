/** Files of allocations, in a folder that the machine of the commands shares with the hosts. */
import type { AllocationSettings } from '../core/hosts/host-recipe.js';
import { type Launch, WorkloadManagerError } from '../core/ports/workload-manager.js';
import { ALLOCATION_FILES, jobScript } from './job-script.js';
import { type RunCommand, unavailable } from './run-command.js';
import { hereDocument, shellWord } from './shell-words.js';

/** A name is a part of paths, commands and lists. */
const NAME = /^[A-Za-z0-9-]{1,100}$/;
const OUTPUT_BYTES = 16 * 1024;

export interface AllocationFiles {
  /** Writes all files of an allocation; resolves with the path of the script. */
  write(launch: Launch): Promise<string>;
  /** Path of the script of an allocation. */
  scriptOf(name: string): string;
  /** End of what the job printed; empty when there is none. */
  output(name: string): Promise<string>;
  /** Resolves with the reason why there cannot be files in the folder of all allocations, or null. Nothing stays there. */
  check(): Promise<string | null>;
  /** Removes the folder of an allocation; resolves also when there is none. */
  remove(name: string): Promise<void>;
}

/** The name, when it may be one. Throws {@link WorkloadManagerError} (REFUSED). */
export function checkedName(name: string): string {
  if (NAME.test(name)) return name;
  throw new WorkloadManagerError(
    'REFUSED',
    `${JSON.stringify(name)} cannot be the name of a job: 1 to 100 letters, digits and hyphens are allowed`,
  );
}

/** The files of the allocations of a recipe. Rejects with {@link WorkloadManagerError}: REFUSED when they cannot
 *  be used. */
export function allocationFiles(allocation: AllocationSettings, run: RunCommand): AllocationFiles {
  const folderOf = (name: string) => `${allocation.folder}/${checkedName(name)}`;
  const scriptOf = (name: string) => `${folderOf(name)}/${ALLOCATION_FILES.script}`;
  const shell = async (input: string) => {
    const end = await run(['sh'], { input });
    if (end.exitCode === 0) return end.stdout;
    // It was answered: nothing is handed in without its files.
    const { message } = unavailable(end, `cannot use the files below ${allocation.folder}`);
    throw new WorkloadManagerError('REFUSED', message);
  };
  return {
    scriptOf,
    async write(launch) {
      const folder = folderOf(launch.name);
      const credential = `${folder}/${ALLOCATION_FILES.credential}`;
      const config = { ...allocation.agentConfigOf(launch.name), id: launch.name, tokenFile: credential };
      await shell(
        [
          'set -e\numask 077\n',
          // Not the folder of all allocations: where it is missing, the hosts do not share it.
          entered(allocation.folder),
          `mkdir -p ${shellWord(folder)}\nchmod 700 ${shellWord(folder)}\n`,
          fileWritten(credential, launch.credential),
          fileWritten(`${folder}/${ALLOCATION_FILES.config}`, JSON.stringify(config, null, 2)),
          fileWritten(scriptOf(launch.name), jobScript(allocation, folder)),
          `chmod 700 ${shellWord(scriptOf(launch.name))}\n`,
        ].join(''),
      );
      return scriptOf(launch.name);
    },
    output(name) {
      const file = shellWord(`${folderOf(name)}/${ALLOCATION_FILES.output}`);
      return shell(`if [ -e ${file} ]; then tail -c ${OUTPUT_BYTES} ${file}; fi\n`);
    },
    async check() {
      const trial = 'trial=$(mktemp -d ./check-XXXXXXXX)\nrmdir "$trial"\n';
      try {
        await shell(`set -e\numask 077\n${entered(allocation.folder)}${trial}`);
        return null;
      } catch (error) {
        if (error instanceof WorkloadManagerError && error.fault === 'REFUSED') return error.message;
        throw error;
      }
    },
    async remove(name) {
      await shell(`rm -rf ${shellWord(folderOf(name))}\n`);
    },
  };
}

/** Part of a script that goes on in a folder. */
function entered(folder: string): string {
  const refusal = shellWord(
    `${folder} is no folder that this user may enter; make it, on a file system that the hosts share`,
  );
  return `cd ${shellWord(folder)} 2>/dev/null || { echo ${refusal} >&2; exit 1; }\n`;
}

/** Part of a script that writes a file in one step, so that a job sees all of it or none. */
function fileWritten(path: string, content: string): string {
  const next = shellWord(`${path}.new`);
  return `${hereDocument(`cat >${next}`, content)}mv -f ${next} ${shellWord(path)}\n`;
}
