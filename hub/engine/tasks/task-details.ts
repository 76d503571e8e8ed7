/** A task whole: its job, its attempts, and its files one by one. */
import type { FileRef, Job, NamedFileRef } from '@workbench-hub/shared/domain/job';
import { hasEnded } from '@workbench-hub/shared/domain/task';
import { HubError } from '../../core/errors.js';
import type { BlobStore, FoundBlob, Hold } from '../../core/ports/blobs.js';
import type { FormerAttempt, TaskArchive } from '../../core/ports/task-archive.js';
import type { Delivery } from '../../core/ports/webhook-deliveries.js';
import type { ExecutingInstance, NotifyAddress, Task, TaskFiles } from '../../core/task.js';
import type { Webhooks } from '../webhooks/webhooks.js';
import type { Tasks } from './tasks.js';

/** An attempt of a task. Times are milliseconds since 1970. */
export interface AttemptDetails {
  readonly attempt: number;
  readonly instance: ExecutingInstance;
  readonly startedAtMs: number | null;
  /** Null while it runs. */
  readonly endedAtMs: number | null;
  readonly outcome: 'RUNNING' | 'FINISHED' | 'FAILED' | 'CANCELED' | FormerAttempt['loss'];
  /** Why it was lost, returned or failed. */
  readonly reason: string | null;
}

export interface TaskDetails {
  readonly task: Task;
  readonly job: Job;
  /** In their order. */
  readonly attempts: readonly AttemptDetails[];
  /** Null before the end of the task. */
  readonly files: TaskFiles | null;
  /** Address that the task names for its end; null for none. */
  readonly notify: NotifyAddress | null;
  /** Webhooks about its end; none before. */
  readonly deliveries: readonly Delivery[];
}

/** An input of a job. */
export interface InputFile {
  readonly kind: 'MODEL' | 'SCRIPT' | 'ADDITIONAL_FILE';
  /** Unique among the inputs of the task: `model/gear.xml`, `scripts/1`, `files/a/b.txt`. */
  readonly path: string;
  /** Name of a model or a script for people; null when none was given. */
  readonly filename: string | null;
  readonly ref: FileRef;
}

/** A file of a task with its content. */
export interface TaskFile {
  /** Name to save it under, without folders. */
  readonly name: string;
  readonly digest: string;
  readonly file: FoundBlob;
}

/** All output files of a task, to be read in a row. Once they are held, they outlive the task. */
export interface TaskOutputs {
  readonly task: Task;
  /** By path. */
  readonly refs: readonly NamedFileRef[];
  /** Begins a hold on all of them, which must be ended. */
  beginHold(): Hold;
  /** Finds one of them. Rejects with TASK_FILE_NOT_FOUND. */
  find(ref: NamedFileRef, hold: Hold): Promise<FoundBlob>;
}

export interface TaskDetailsOptions {
  readonly tasks: Pick<Tasks, 'get'>;
  readonly archive: Pick<TaskArchive, 'jobOf' | 'formerAttempts' | 'filesOf'>;
  readonly files: Pick<BlobStore, 'find' | 'hold' | 'holdBriefly'>;
  /** Null for a hub that sends none. */
  readonly webhooks: Pick<Webhooks, 'ofTask'> | null;
}

/** All methods reject with TASK_NOT_FOUND. */
export class TaskDetailsReader {
  readonly #options: TaskDetailsOptions;

  constructor(options: TaskDetailsOptions) {
    this.#options = options;
  }

  async read(id: string): Promise<TaskDetails> {
    const { tasks, archive, webhooks } = this.#options;
    const told = (await webhooks?.ofTask(id)) ?? { notify: null, deliveries: [] };
    const former = await archive.formerAttempts(id);
    const job = await archive.jobOf(id);
    const task = await tasks.get(id);
    // A task that was removed meanwhile is not found above.
    if (!job) throw new Error(`task ${id} has no job`);
    return {
      task,
      job,
      attempts: attemptsOf(task, former),
      files: hasEnded(task.status) ? await archive.filesOf(id) : null,
      ...told,
    };
  }

  /** Inputs of a task: model, scripts in their order, additional files. */
  async inputs(id: string): Promise<InputFile[]> {
    const { tasks, archive } = this.#options;
    await tasks.get(id);
    const job = await archive.jobOf(id);
    return job ? inputsOf(job) : [];
  }

  /** One input. Rejects with TASK_FILE_NOT_FOUND. */
  async input(id: string, path: string): Promise<TaskFile> {
    const found = (await this.inputs(id)).find((input) => input.path === path);
    if (!found) throw notFound(id, 'input', path);
    return this.#open(id, path, found.ref, found.filename ?? path);
  }

  /** Files that an ended task produced, by path; none before its end. */
  async outputs(id: string): Promise<TaskFiles['outputFiles']> {
    const { tasks, archive } = this.#options;
    await tasks.get(id);
    const { outputFiles } = await archive.filesOf(id);
    // A task that was deleted meanwhile has none either.
    if (outputFiles.length === 0) await tasks.get(id);
    return [...outputFiles].sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  /** One output file. Rejects with TASK_FILE_NOT_FOUND. */
  async output(id: string, path: string): Promise<TaskFile> {
    const found = (await this.outputs(id)).find((output) => output.path === path);
    if (!found) throw notFound(id, 'output', path);
    return this.#open(id, path, found, path);
  }

  /** All output files. They are held for the seconds until {@link TaskOutputs.beginHold}. */
  async allOutputs(id: string): Promise<TaskOutputs> {
    const { tasks, files } = this.#options;
    const refs = await this.outputs(id);
    files.holdBriefly(refs);
    // Another hub that deletes the task from here on asks for holds after that.
    const task = await tasks.get(id);
    return {
      task,
      refs,
      beginHold: () => {
        const hold = files.hold();
        for (const ref of refs) hold.add(ref);
        return hold;
      },
      find: (ref, hold) => this.#find(id, ref.path, ref, hold),
    };
  }

  async #open(id: string, path: string, ref: FileRef, filename: string): Promise<TaskFile> {
    const file = await this.#find(id, path, ref);
    return { name: filename.slice(filename.lastIndexOf('/') + 1), digest: ref.digest, file };
  }

  async #find(id: string, path: string, ref: FileRef, hold?: Hold): Promise<FoundBlob> {
    const file = await this.#options.files.find(ref, hold);
    // Deleted since it was looked up, or damaged.
    if (!file) throw notFound(id, 'content of the', path);
    return file;
  }
}

function notFound(id: string, what: string, path: string): HubError {
  return new HubError('TASK_FILE_NOT_FOUND', `task ${id} has no ${what} file ${JSON.stringify(path)}`);
}

function inputsOf(job: Job): InputFile[] {
  if (job.type === 'SIMULATE_WORK') return [];
  const { model, scripts, additionalFiles } = job;
  const input = (kind: InputFile['kind'], path: string, ref: FileRef, filename: string | null = null) => {
    return { kind, path, filename, ref };
  };
  return [
    ...(model?.kind === 'BLOB' ? [input('MODEL', `model/${model.path}`, model, model.filename)] : []),
    ...scripts.map((ref, at) => input('SCRIPT', `scripts/${at + 1}`, ref, ref.filename)),
    ...additionalFiles.map((ref) => input('ADDITIONAL_FILE', `files/${ref.path}`, ref)),
  ];
}

/** The former attempts, and the latest one from the task itself. */
function attemptsOf(task: Task, former: readonly FormerAttempt[]): AttemptDetails[] {
  const attempts: AttemptDetails[] = former
    .filter(({ attempt }) => attempt !== task.attempt || task.status === 'WAITING' || isLostBefore(task))
    .map(({ loss, ...rest }) => ({ ...rest, outcome: loss }));
  const { status, instance, startedAtMs, endedAtMs, attempt, message } = task;
  // A waiting task has no start.
  if (status !== 'WAITING' && instance && startedAtMs !== null) {
    attempts.push({ attempt, instance, startedAtMs, endedAtMs, outcome: status, reason: message });
  }
  return attempts;
}

/** Whether the task was canceled while it waited, after its latest attempt was lost. */
function isLostBefore({ status, startedAtMs }: Task): boolean {
  return status === 'CANCELED' && startedAtMs === null;
}
