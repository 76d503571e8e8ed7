/** A workload manager whose jobs run nothing: the test says in which state each of them is. */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { hubConfigSchema } from '@workbench-hub/hub/config';
import type { z } from 'zod';
import { FakeAgent } from '../agents/fake-agent.js';

type RecipeInput = NonNullable<z.input<typeof hubConfigSchema>['hosts']>[number];

/** Commands of the site: sh -c TEXT FOLDER. A job without a line of its own waits, and has the number of its folder. */
const SUBMIT = `echo "$WORKBENCH_ALLOCATION" >>"$0/names"; grep -c . "$0/names"`;
const LIST = `if [ -e "$0/away" ]; then echo "the manager is away" >&2; exit 75; fi
for name in $WORKBENCH_ALLOCATIONS; do
  number=$(grep -n "^$name\\$" "$0/names" | cut -d: -f1)
  [ -n "$number" ] || continue
  if [ -e "$0/$name" ]; then echo "$number $name $(cat "$0/$name")"; else echo "$number $name QUEUED - Priority"; fi
done`;
const CANCEL =
  'echo "ENDED - canceled" >"$0/$WORKBENCH_ALLOCATION.new" && mv -f "$0/$WORKBENCH_ALLOCATION.new" "$0/$WORKBENCH_ALLOCATION"';

export class JobTable {
  readonly #folder: string;
  readonly #label: string;

  /** A table in an empty folder, which the caller removes. The instances of its hosts have this label. */
  constructor(folder: string, label = 'hosted') {
    this.#folder = folder;
    this.#label = label;
    mkdirSync(join(folder, 'shared'), { mode: 0o700 });
    writeFileSync(join(folder, 'names'), '');
  }

  /** A recipe for hosts with one instance, with the given keys in place of its own. */
  recipe(keys: Partial<RecipeInput> = {}): RecipeInput {
    const command = (text: string) => ['sh', '-c', text, this.#folder];
    return {
      name: 'cloud',
      manager: { kind: 'command', submit: command(SUBMIT), list: command(LIST), cancel: command(CANCEL) },
      folder: join(this.#folder, 'shared'),
      wallTime: '2h',
      agent: {
        hub: 'ws://127.0.0.1:9',
        instances: [{ id: 'gear', version: '9.1.0', labels: [this.#label] }],
      },
      ...keys,
    };
  }

  /** The job runs, and has this time left. */
  run(name: string, secondsLeft: number): void {
    this.#set(name, `RUNNING ${secondsLeft}`);
  }

  /** The job has printed this, and ended. */
  fail(name: string, printed: string): void {
    appendFileSync(join(this.#folder, 'shared', name, 'output'), printed);
    this.#set(name, 'ENDED - exit code 1');
  }

  /** Whether the hub has given the job back. */
  isCanceled(name: string): boolean {
    const file = join(this.#folder, name);
    return existsSync(file) && readFileSync(file, 'utf8').includes('canceled');
  }

  leave(): void {
    writeFileSync(join(this.#folder, 'away'), '');
  }

  comeBack(): void {
    rmSync(join(this.#folder, 'away'));
  }

  /** The agent of an allocation joins by its credential, with one instance. */
  join(hub: { readonly address: string }, name: string): Promise<FakeAgent> {
    const token = readFileSync(join(this.#folder, 'shared', name, 'credential'), 'utf8').trim();
    const instances = [{ id: `${name}-gear-1`, version: '9.1.0', labels: [this.#label] }];
    return FakeAgent.join({ address: hub.address, token }, { id: name, instances });
  }

  /** In one step, since the commands may read it at any time. */
  #set(name: string, line: string): void {
    const file = join(this.#folder, name);
    writeFileSync(`${file}.next`, `${line}\n`);
    renameSync(`${file}.next`, file);
  }
}
