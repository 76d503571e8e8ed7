/** A workload manager for hundreds of jobs that wait: its commands are processes, each of which starts no other. */
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Commands of the site: sh -c TEXT FOLDER. A job is a file, which has the line of the list; one that is handed in twice is noted. */
const SUBMIT = `set -eu
name=$WORKBENCH_ALLOCATION
[ ! -e "$0/jobs/$name" ] || echo "$name" >>"$0/doubled"
echo "of-$name $name QUEUED - Priority" >"$0/jobs/$name"
echo "of-$name"`;
const LIST = `set -eu
asked=0
for name in $WORKBENCH_ALLOCATIONS; do
  asked=$((asked + 1))
  [ -e "$0/jobs/$name" ] || continue
  read -r line <"$0/jobs/$name"
  echo "$line"
done
echo "$asked" >>"$0/lists"`;
const CANCEL = `set -eu
name=$WORKBENCH_ALLOCATION
[ -e "$0/jobs/$name" ] || exit 0
echo "of-$name $name ENDED - canceled" >"$0/jobs/$name"
echo "$name" >>"$0/canceled"`;

export class JobFolder {
  readonly #folder: string;

  /** In an empty folder, which the caller removes. */
  constructor(folder: string) {
    this.#folder = folder;
    for (const name of ['jobs', 'shared']) mkdirSync(join(folder, name), { mode: 0o700 });
  }

  /** Its settings and the shared folder, as keys of a recipe. */
  get keys() {
    const command = (text: string) => ['sh', '-c', text, this.#folder];
    return {
      manager: {
        kind: 'command' as const,
        submit: command(SUBMIT),
        list: command(LIST),
        cancel: command(CANCEL),
      },
      folder: join(this.#folder, 'shared'),
    };
  }

  /** Names of the jobs that it ever had. */
  names(): string[] {
    return readdirSync(join(this.#folder, 'jobs')).toSorted();
  }

  /** Names of the allocations that have files. */
  namesWithFiles(): string[] {
    return readdirSync(join(this.#folder, 'shared')).toSorted();
  }

  /** Names that were handed in again. */
  doubled(): string[] {
    return this.#lines('doubled');
  }

  /** Names that were canceled. */
  canceled(): string[] {
    return [...new Set(this.#lines('canceled'))].toSorted();
  }

  /** Numbers of the names that lists were asked about. */
  lists(): number[] {
    return this.#lines('lists').map(Number);
  }

  #lines(name: string): string[] {
    try {
      return readFileSync(join(this.#folder, name), 'utf8').trim().split('\n');
    } catch {
      return []; // There is none yet.
    }
  }
}
