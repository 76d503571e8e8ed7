import { Connection, type RequestOptions } from './connection.js';
import { type Credentials, TokenCredentials } from './credentials.js';
import { OverloadedError, type UnreachableError } from './errors.js';
import { type EventOptions, type HubEvent, type TaskFilter, taskEvents } from './events.js';
import { type Client, createClient } from './generated/client/index.js';
import type {
  BulkOutcome,
  CancelTasksRequest,
  CreationResponse,
  Health,
  Invalidation,
  InvalidationList,
  ManifestKeys,
  StudyItem,
  TaskDetails,
  TaskItem,
  TaskWindow,
  User,
  WorkbenchInstance,
  WorkbenchInstancePage,
} from './generated/types.gen.js';
import { repeatable } from './idempotency-key.js';
import { InputStorage } from './input-storage.js';
import type { NewInvalidation } from './invalidation.js';
import { type Job, type JobFile, jobFields, modelTypeOfStaged, requestOf } from './job.js';
import type { UploadProgress } from './resumable-upload.js';
import { Study, type StudyJob, studiesOf } from './study.js';
import { type RunOptions, Task } from './task.js';

const PAGE_SIZE = 500;
const STUDIES = '/api/x/studies';
const INVALIDATIONS = '/api/x/invalidations';

export interface HubOptions {
  /** Address of the hub, such as `https://hub.example`. */
  readonly url: string;
  /** Personal access token, or credentials of another kind; neither for a hub without security. */
  readonly token?: string;
  readonly credentials?: Credentials;
  /** Replaces the platform's `fetch`, to go through a proxy or trust a private authority. */
  readonly fetch?: typeof fetch;
  /** Delays of further tries of a request that failed for a reason that passes; an empty list for none. */
  readonly retryDelaysMs?: readonly number[];
  /** Longest time without an answer in a call, over all of its tries, in milliseconds; a minute by default. */
  readonly timeoutMs?: number;
  /** Called when a request is tried again since the hub could not be reached, or a stream since the hub refuses it at present. */
  readonly onRetry?: (error: UnreachableError | OverloadedError) => void;
}

export interface SubmitOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called as a large file of the job arrives at the hub. */
  readonly onUpload?: ((progress: UploadProgress) => void) | undefined;
  /** Called with each warning of the hub about the job, in words: a field that it does not know, or that the job may run on instances
   *  of different kinds. */
  readonly onWarning?: ((warning: string) => void) | undefined;
}

/**
 * A Workbench Hub.
 *
 * ```js
 * const hub = new Hub({ url: 'https://hub.example', token });
 * const task = await hub.run({ model, scripts: [script], variables: { load: 12 } });
 * ```
 */
export class Hub {
  readonly url: string;
  readonly storage: InputStorage;
  /** Client for the generated functions of `api`, which cover every endpoint. */
  readonly client: Client;
  readonly #connection: Connection;

  constructor({
    url,
    token,
    credentials,
    fetch: send = fetch,
    retryDelaysMs,
    timeoutMs,
    onRetry,
  }: HubOptions) {
    this.#connection = new Connection({
      url,
      credentials: credentials ?? (token === undefined ? undefined : new TokenCredentials(token)),
      fetch: (...request) => send(...request),
      ...(retryDelaysMs === undefined ? {} : { retryDelaysMs }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
      ...(onRetry === undefined ? {} : { onRetry }),
    });
    this.url = this.#connection.url;
    this.storage = new InputStorage(this.#connection);
    this.client = createClient({
      baseUrl: this.#connection.url,
      throwOnError: true,
      fetch: (request) => this.#connection.send(request as Request),
    });
  }

  /** Creates a batch job. When the response is lost, its creation is repeated on a hub that takes an Idempotency-Key. */
  async submit(job: Job, { signal, onUpload, onWarning }: SubmitOptions = {}): Promise<Task> {
    const options = { signal, onProgress: onUpload };
    const json = await requestOf(job, (content, ending) => this.storage.keep(content, ending, options));
    const { notify } = job;
    const path = notify === undefined ? '/api/2.0/workbench/task/execute-batch-job/create' : '/api/x/tasks';
    const { id } = await this.#connection.json<CreationResponse | TaskItem>(path, {
      ...repeatable(this.#connection, path),
      json: notify === undefined ? json : { ...json, type: 'EXECUTE_BATCH_JOB', notify },
      onWarning,
      signal,
    });
    return new Task(this.#connection, id);
  }

  /** Creates a batch job and waits for its end. The status of the result says whether it succeeded. */
  async run(job: Job, options: RunOptions & SubmitOptions = {}): Promise<TaskDetails> {
    return (await this.submit(job, options)).wait(options);
  }

  /** Creates the job of a task again, with other values of some variables. */
  async rerun(id: string, { variables = {} }: { readonly variables?: Job['variables'] } = {}): Promise<Task> {
    const task = this.task(id);
    const details = await task.details();
    if (details.type !== 'EXECUTE_BATCH_JOB') throw new TypeError(`task ${id} is no batch job`);
    if (details.points)
      throw new TypeError(`task ${id} is a bundle of points of a study, which tries them again`);
    const values = {
      ...Object.fromEntries(details.variables.map(({ key, value }) => [key, value])),
      ...variables,
    };
    const files: Record<string, JobFile> = {};
    const scripts: JobFile[] = [];
    let model: Job['model'] = details.hostModel && {
      hostPath: details.hostModel.path,
      copied: details.hostModel.copied,
    };
    let modelType: string | undefined;
    for (const { kind, path, filename } of details.inputs) {
      const content = await (await task.input(path)).blob();
      const named = filename === undefined ? content : new File([content], filename);
      const staged = path.slice(path.indexOf('/') + 1);
      if (kind === 'MODEL') [model, modelType] = [named, modelTypeOfStaged(staged)];
      else if (kind === 'SCRIPT') scripts.push(named);
      else files[staged] = content;
    }
    return this.submit({
      ...jobFields(details),
      scripts,
      files,
      variables: values,
      ...(model === undefined ? {} : { model }),
      ...(modelType === undefined ? {} : { modelType }),
    });
  }

  /** Creates a study. When the response is lost, its creation is repeated on a hub that takes an Idempotency-Key. */
  async createStudy(
    {
      vary,
      plan,
      values,
      success,
      stopAfterFailures,
      stopAfter,
      stopWhen,
      reuse,
      bundle,
      notify,
      ...job
    }: StudyJob,
    { signal, onUpload, onWarning }: SubmitOptions = {},
  ): Promise<Study> {
    const options = { signal, onProgress: onUpload };
    const json = await requestOf(job, (content, ending) => this.storage.keep(content, ending, options));
    const stopRules = { stopAfterFailures, stopAfter, stopWhen };
    const { id } = await this.#connection.json<{ id: string }>(STUDIES, {
      ...repeatable(this.#connection, STUDIES),
      json: { ...json, variables: vary, plan, values, success, ...stopRules, reuse, bundle, notify },
      onWarning,
      signal,
    });
    return new Study(this.#connection, id);
  }

  /** A study by its id; no request is sent. */
  study(id: string): Study {
    return new Study(this.#connection, id);
  }

  /** Yields the studies with this name, or all, newest first. */
  studies({ name }: { readonly name?: string } = {}, signal?: AbortSignal): AsyncGenerator<StudyItem> {
    return studiesOf(this.#connection, name, signal);
  }

  /** Which results studies do not reuse, newest first. */
  async invalidations(): Promise<readonly Invalidation[]> {
    return (await this.#connection.json<InvalidationList>(INVALIDATIONS)).invalidations;
  }

  /** Lets studies no longer reuse the results that there are now of a task, an instance, or a version and revision. */
  invalidate(results: NewInvalidation): Promise<Invalidation> {
    return this.#connection.json(INVALIDATIONS, { method: 'POST', json: results });
  }

  /** Takes an invalidation back, by its id. */
  async revalidate(id: string): Promise<void> {
    await this.#connection.text(`${INVALIDATIONS}/${encodeURIComponent(id)}`, { method: 'DELETE' });
  }

  /** A task by its id; no request is sent. */
  task(id: string): Task {
    return new Task(this.#connection, id);
  }

  /** Yields the tasks that match, newest request first. */
  async *tasks(filter: TaskFilter = {}, signal?: AbortSignal): AsyncGenerator<TaskItem> {
    let after: string | undefined;
    do {
      const window = await this.window(
        filter,
        { limit: PAGE_SIZE, ...(after === undefined ? {} : { after }) },
        signal,
      );
      yield* window.tasks;
      after = window.next;
    } while (after !== undefined);
  }

  /** One window of the list of tasks, with counts by status and the cursor for {@link events}. */
  window(
    filter: TaskFilter = {},
    place: { limit?: number; after?: string } = {},
    signal?: AbortSignal,
  ): Promise<TaskWindow> {
    return this.#connection.json('/api/x/tasks', {
      query: { ...filter, ...place } as RequestOptions['query'] & object,
      signal,
    });
  }

  /**
   * Cancels all waiting tasks that match and that the user may cancel, with `force` running ones, too; with `dryRun`, none.
   * One call cancels at most 10,000: `more` says that there are others.
   */
  cancelTasks(filter: TaskFilter, { force = false, dryRun = false } = {}): Promise<BulkOutcome> {
    return this.#changeTasks('cancel', { filter, dryRun, force });
  }

  /** Deletes all ended tasks that match and that the user may delete, 10,000 at most; with `dryRun`, none. */
  deleteTasks(filter: TaskFilter, { dryRun = false } = {}): Promise<BulkOutcome> {
    return this.#changeTasks('delete', { filter, dryRun });
  }

  /** Yields every change of tasks at least once, in order, and continues after restarts of the hub. */
  events(options: EventOptions = {}): AsyncGenerator<HubEvent, never> {
    return taskEvents(this.#connection, options);
  }

  /** All workbench instances. */
  async instances(signal?: AbortSignal): Promise<WorkbenchInstance[]> {
    const all: WorkbenchInstance[] = [];
    for (let page = 0; ; page++) {
      const query = { page, size: PAGE_SIZE };
      const { content, totalPages } = await this.#connection.json<WorkbenchInstancePage>(
        '/api/2.0/workbench/node/instance/list',
        { query, signal },
      );
      all.push(...content);
      if (page + 1 >= totalPages) return all;
    }
  }

  /** The log of an instance: `console`, `stdout` or `stderr`. */
  async instanceLog(id: string, type: string): Promise<string> {
    const path = `/api/2.0/workbench/node/instance/${encodeURIComponent(id)}/log/${encodeURIComponent(type)}`;
    return this.#connection.text(path);
  }

  /** The public keys that verify manifests, the newest first. */
  manifestKeys(signal?: AbortSignal): Promise<ManifestKeys> {
    return this.#connection.json('/api/x/manifest-keys', { signal });
  }

  /** Health of the hub, also while it is not well. */
  async health(): Promise<Health> {
    try {
      return await this.#connection.json('/actuator/health', { isRetried: false });
    } catch (error) {
      if (error instanceof OverloadedError && error.body !== undefined) return error.body as Health;
      throw error;
    }
  }

  /** The name of the user whose credentials these are. */
  async user(): Promise<string> {
    return (await this.#connection.json<User>('/api/2.0/user')).username;
  }

  #changeTasks(action: 'cancel' | 'delete', json: CancelTasksRequest): Promise<BulkOutcome> {
    const path = `/api/x/tasks/${action}`;
    return this.#connection.json(path, { method: 'POST', json, isIdempotent: json.dryRun });
  }
}
