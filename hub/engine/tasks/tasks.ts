/** Use cases of tasks, for all API versions. */
import type { Readable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import { type Classifier, type ClassifierError, classify } from '@workbench-hub/shared/domain/classifier';
import { type FileRef, type Job, withoutFilenames } from '@workbench-hub/shared/domain/job';
import { byPath } from '@workbench-hub/shared/domain/relative-path';
import { hasEnded, type TaskStatus, type TaskType } from '@workbench-hub/shared/domain/task';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { type Caller, refuseForeignTask } from '../../core/access.js';
import { HubError, invalidInput, type ValidationError } from '../../core/errors.js';
import type { LogText } from '../../core/log-parts.js';
import type { BlobStore, FoundBlob, Hold } from '../../core/ports/blobs.js';
import type {
  TaskArchive,
  TaskPage,
  TaskQuery,
  TaskWindow,
  TaskWindowQuery,
} from '../../core/ports/task-archive.js';
import { type NamedSize, type NewTask, TASK_TRANSITIONS, type Task } from '../../core/task.js';
import { describeState, withIgnoredFields } from '../../core/task-message.js';
import { kindsWarning, type WaitReason } from '../../core/wait-reason.js';
import type { Disconnect, ResultWaiters } from '../following/result-waiters.js';
import type { RunningOutput } from '../following/running-output.js';
import { readableTail } from '../following/task-output.js';
import type { ShutdownPreparation } from '../scheduling/shutdown-preparation.js';
import type { TaskTransitions } from '../transitions/task-transitions.js';
import type { Explanations } from '../waiting/explanations.js';
import type { Webhooks } from '../webhooks/webhooks.js';
import type { ListClient } from './list-turns.js';
import { newTask, type TaskRequest } from './new-task.js';
import type { TaskLists } from './task-lists.js';

/** A file that a task produced. */
export interface OutputFile {
  readonly path: string;
  readonly sizeBytes: number;
  /** Opens the blob for reading; rejects when it is missing. */
  open(): Promise<Readable>;
  /** Keeps the blob while the response is written, also when the task is deleted meanwhile. */
  keepBy(hold: Hold): void;
}

/** Log of a task: none of an ended one, the text so far of others, or the file of an ended one. */
export type TaskLog =
  | { readonly kind: 'NONE' }
  | {
      readonly kind: 'TEXT';
      /** The whole log as shown to people, with remarks. */
      readonly text: string;
      /** Output so far, without remarks. */
      readonly output: LogText;
    }
  | { readonly kind: 'FILE'; readonly file: FoundBlob };

export interface TasksOptions {
  readonly transitions: Pick<TaskTransitions, 'create' | 'createOnce' | 'cancel' | 'remove'>;
  readonly archive: TaskArchive;
  readonly lists: Pick<TaskLists, 'list' | 'window'>;
  readonly files: BlobStore;
  readonly resultWaiters: ResultWaiters;
  readonly output: Pick<RunningOutput, 'tailOf'>;
  readonly runtime: Runtime;
  readonly shutdown: ShutdownPreparation;
  readonly explanations: Explanations;
  /** Null for a hub that sends none. */
  readonly webhooks: Pick<Webhooks, 'notifyErrors' | 'ofTask'> | null;
  readonly log: Logger;
  readonly defaultVersion: string | null;
}

export class Tasks {
  readonly #options: TasksOptions;

  constructor(options: TasksOptions) {
    this.#options = options;
  }

  /** Validation errors of these classifiers. */
  classifierErrors(classifiers: readonly Classifier[]): ValidationError[] {
    return classify(classifiers, this.#options.defaultVersion).errors.map(validationErrorOf);
  }

  /** Validation errors of an address for the end of a task; none without one. */
  notifyErrors(notify: string | null | undefined): ValidationError[] {
    if (notify === null || notify === undefined) return [];
    const { webhooks } = this.#options;
    return webhooks?.notifyErrors(notify) ?? [{ where: 'notify', what: 'this hub sends no webhooks' }];
  }

  /** Throws SHUTDOWN_PREPARED during shutdown preparation: before anything of a request is stored. */
  refuseWhenShutdownPrepared(): void {
    this.#options.shutdown.refuseNewTasks();
  }

  /** Creates a task; resolves when it is durable. Rejects with INVALID_INPUT and SHUTDOWN_PREPARED. */
  async create(request: TaskRequest): Promise<Task> {
    this.refuseWhenShutdownPrepared();
    const task = this.#newTask(request);
    await this.#options.transitions.create(task);
    return task;
  }

  /** Creates a task unless its creator has created one with this key, and resolves with that. Rejects with
   *  IDEMPOTENCY_KEY_REUSED, too, when that was another request, or is deleted. */
  async createOnce(request: TaskRequest, key: string): Promise<{ task: Task; isNew: boolean }> {
    this.refuseWhenShutdownPrepared();
    const task = this.#newTask(request);
    const id = await this.#options.transitions.createOnce(task, key);
    if (id === task.id) return { task, isNew: true };
    const earlier = await this.#options.archive.find(id);
    if (!earlier) {
      throw new HubError(
        'IDEMPOTENCY_KEY_REUSED',
        `Idempotency-Key: task ${id} was created with this key, and is deleted by now; take a new key to create another task`,
      );
    }
    const job = await this.#options.archive.jobOf(id);
    const notify = (await this.#options.webhooks?.ofTask(id))?.notify ?? null;
    if (!isDeepStrictEqual(requestOf({ ...earlier, job, notify }), requestOf(task))) {
      throw new HubError(
        'IDEMPOTENCY_KEY_REUSED',
        `Idempotency-Key: task ${id} was created with this key by another request; take a new key for each request, and the ` +
          'same one only to repeat it',
      );
    }
    return { task: earlier, isNew: false };
  }

  #newTask(request: TaskRequest): NewTask {
    const { runtime, defaultVersion } = this.#options;
    const { errors } = classify(request.classifiers, defaultVersion);
    const faults = [...errors.map(validationErrorOf), ...this.notifyErrors(request.notify)];
    if (faults.length > 0) throw invalidInput(faults);
    return newTask(request, { id: runtime.newId(), nowMs: runtime.clock.nowMs(), defaultVersion });
  }

  /** Rejects with TASK_NOT_FOUND, as all methods below that take an id do. */
  async get(id: string): Promise<Task> {
    const task = await this.#options.archive.find(id);
    if (!task) throw new HubError('TASK_NOT_FOUND', `there is no task with the id ${JSON.stringify(id)}`);
    return task;
  }

  /** Why the task waits, in words; null when it does not wait. */
  waitMessage(task: Task): string | null {
    return this.waitReason(task)?.message ?? null;
  }

  /** Why the task waits, as data and in words; null when it does not wait. */
  waitReason(task: Task): WaitReason | null {
    if (task.status !== 'WAITING') return null;
    const reason = this.#options.explanations.reasonOf(task);
    return { ...reason, message: withIgnoredFields(task, `${describeState(task)} ${reason.message}`) };
  }

  /** Warning for the creator of a task that waits; null for none. */
  warningOf(task: Task): string | null {
    const kinds = this.waitReason(task)?.facts.kinds ?? [];
    return kinds.length === 0 ? null : kindsWarning(kinds);
  }

  /** As {@link TaskLists.list}. */
  list(query: TaskQuery, client?: ListClient): Promise<TaskPage> {
    return this.#options.lists.list(query, client);
  }

  /** As {@link TaskLists.window}. */
  window(query: TaskWindowQuery, client: ListClient): Promise<TaskWindow> {
    return this.#options.lists.window(query, client);
  }

  /** Tasks with this content among their inputs, as {@link TaskArchive.withInput}. */
  withInput(content: FileRef, limit: number): ReturnType<TaskArchive['withInput']> {
    return this.#options.archive.withInput(content, limit);
  }

  /** Waits up to `timeoutMs` for the end of a task of this type; returns the task as it is then. */
  async awaitEnd(id: string, type: TaskType, timeoutMs: number, client: () => Disconnect): Promise<Task> {
    if (timeoutMs === 0) return this.#ofType(id, type);
    const { ended, giveUp } = this.#options.resultWaiters.wait(id, timeoutMs, client());
    try {
      const latest = await this.#ofType(id, type);
      if (hasEnded(latest.status)) return latest;
      await ended;
      return await this.#ofType(id, type);
    } finally {
      giveUp();
    }
  }

  /** Output files of a task, sorted by path. Rejects with TASK_NOT_FOUND when it was deleted meanwhile. */
  async outputs(id: string): Promise<OutputFile[]> {
    const { archive, files } = this.#options;
    const { outputFiles } = await archive.filesOf(id);
    if (outputFiles.length === 0) await this.get(id);
    files.holdBriefly(outputFiles);
    return [...outputFiles].sort(byPath).map(({ path, ...ref }) => ({
      path,
      sizeBytes: ref.sizeBytes,
      open: async () => {
        const file = await files.find(ref);
        if (!file) throw new Error(`blob ${ref.digest} of ${path} of task ${id} is missing`);
        return file.open();
      },
      keepBy: (hold) => hold.add(ref),
    }));
  }

  /** Stored files of a task by their names, some of which may have expired. */
  async storedFiles(id: string): Promise<readonly NamedSize[]> {
    return (await this.#options.archive.filesOf(id)).storedFiles ?? [];
  }

  /** Output of the scripts: the latest while they run and until the agent of a canceled task reports, all of it afterwards. */
  async log(id: string): Promise<TaskLog> {
    const task = await this.get(id);
    if (!hasEnded(task.status)) {
      const isRunning = task.status === 'RUNNING';
      const tail = isRunning ? await this.#options.output.tailOf(task) : undefined;
      const text = isRunning ? readableTail(tail) : ((await this.#options.explanations.lineFor(task)) ?? '');
      return { kind: 'TEXT', text, output: { text: tail?.text ?? '', offset: tail?.start ?? 0 } };
    }
    let { log } = await this.#options.archive.filesOf(id);
    if (!log && task.status === 'CANCELED') {
      const tail = await this.#options.output.tailOf(task);
      if (tail)
        return { kind: 'TEXT', text: readableTail(tail), output: { text: tail.text, offset: tail.start } };
      // The report may have come meanwhile.
      ({ log } = await this.#options.archive.filesOf(id));
    }
    if (!log) return { kind: 'NONE' };
    const file = await this.#options.files.find(log);
    if (!file) throw new Error(`log ${log.digest} of task ${id} is missing`);
    return { kind: 'FILE', file };
  }

  /** Cancels a waiting task, by force also a running one. Rejects with FORBIDDEN and TASK_NOT_CANCELABLE. */
  async cancel(id: string, force: boolean, caller: Caller): Promise<void> {
    const before = await this.get(id);
    refuseForeignTask(caller, before);
    if (await this.#options.transitions.cancel(before, force)) return;
    const { from } = force ? TASK_TRANSITIONS.cancelByForce : TASK_TRANSITIONS.cancel;
    const { status } = await this.get(id);
    this.#refused(id, force ? 'cancelByForce' : 'cancel', status);
    const hint = status === 'RUNNING' ? '; add ?force=true to end it on its workbench instance' : '';
    throw new HubError(
      'TASK_NOT_CANCELABLE',
      `task ${id} is ${status}, only a ${from.join(' or ')} one can be canceled${hint}`,
    );
  }

  /** Removes an ended task with all its results. Rejects with FORBIDDEN and TASK_NOT_DELETABLE. */
  async remove(id: string, caller: Caller): Promise<void> {
    refuseForeignTask(caller, await this.get(id));
    const { transitions, files } = this.#options;
    const [removed] = await transitions.remove([id]);
    if (removed) {
      void files.reclaim();
      return;
    }
    const { status, loan } = await this.get(id);
    this.#refused(id, 'remove', status);
    if (loan && hasEnded(status)) {
      const what = `task ${id} ran for the hub ${loan.upstream}, which does not have its result yet: it can be deleted afterwards`;
      throw new HubError('TASK_NOT_DELETABLE', what);
    }
    throw new HubError(
      'TASK_NOT_DELETABLE',
      `task ${id} is ${status}, only one that is ${TASK_TRANSITIONS.remove.from.join(', ')} can be deleted`,
    );
  }

  #refused(taskId: string, transition: keyof typeof TASK_TRANSITIONS, status: TaskStatus): void {
    this.#options.log.info(
      { taskId, transition, status },
      'a transition that the task no longer permits was refused',
    );
  }

  async #ofType(id: string, type: TaskType): Promise<Task> {
    const task = await this.get(id);
    if (task.type === type) return task;
    throw new HubError(
      'TASK_NOT_FOUND',
      `there is no task of type ${type} with the id ${JSON.stringify(id)}`,
    );
  }
}

/** Fields of a task by which a repeated request is recognized. */
function requestOf({
  name,
  note,
  classifiers,
  timeLimitS,
  job,
  notify = null,
}: Pick<Task, 'name' | 'note' | 'classifiers' | 'timeLimitS'> &
  Pick<NewTask, 'notify'> & { readonly job: Job | undefined }) {
  return { name, note, classifiers, timeLimitS, job: job && withoutFilenames(job), notify };
}

function validationErrorOf({ index, member, message }: ClassifierError): ValidationError {
  return { where: `classifiers[${index}].${member}`, what: message };
}
