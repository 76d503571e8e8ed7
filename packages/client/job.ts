/** Jobs as users describe them, and the requests that the hub takes. */
import type { ExecuteBatchJobRequest, TaskDetails } from './generated/types.gen.js';

export type Priority = 'HIGHEST' | 'HIGH' | 'NORMAL' | 'LOW' | 'LOWEST';

/** Content of a file: its bytes, its text, or a file of the browser or of the disk (`file()` of `@workbench-hub/client/node`). */
export type JobFile = Blob | Uint8Array | string;

/** A file in the input storage of the hub. */
export interface StoredInput {
  readonly storageName: string;
}

/** A model that the simulation host can read itself. */
export interface HostModel {
  readonly hostPath: string;
  /** Whether it is copied into the working directory; false by default. */
  readonly copied?: boolean;
}

/** A batch job. */
export interface Job {
  /** Label of the task. */
  readonly name?: string;
  /** Text about the task, for people. */
  readonly note?: string;
  /**
   * The model. A `File` has its type in its name, which the task shows; a blob, bytes or a text need `modelType`. `hostPath` is the path of a
   * model that the simulation host can read itself.
   */
  readonly model?: JobFile | StoredInput | HostModel;
  /** Type of the model, such as `MJCF` or `WBPZ`; by default from the name of the file. */
  readonly modelType?: string;
  /** Scripts, which run one after the other. The task shows the name of a `File`. */
  readonly scripts: readonly JobFile[];
  /** Additional files by their relative path with `/`. */
  readonly files?: Readonly<Record<string, JobFile | StoredInput>>;
  readonly variables?: Readonly<Record<string, string | number | boolean>>;
  /** Version of the workbench, with the wildcards * and ?. */
  readonly version?: string;
  readonly labels?: readonly string[];
  readonly priority?: Priority;
  /** Longest run in seconds. */
  readonly timeLimitS?: number;
  /** Address that gets a webhook when the task ends, if the hub allows it. */
  readonly notify?: string;
}

/** Stores a large file in the input storage under a name with this ending; undefined when it is to travel with the request. */
export type StoreInput = (content: Blob, ending: string) => Promise<StoredInput | undefined>;

/** Type of a model file of this name: `gear.xml` is MJCF. */
const TYPE_OF_ENDING: Readonly<Record<string, string>> = { XML: 'MJCF' };

/** The request that creates this job. Throws TypeError when the type of the model is unknown. */
export async function requestOf(job: Job, store: StoreInput): Promise<ExecuteBatchJobRequest> {
  const { name, note, scripts, files = {}, variables = {}, timeLimitS } = job;
  const classifiers = classifiersOf(job);
  const variablesToInject = Object.entries(variables).map(([key, value]) => ({ key, value: String(value) }));
  return {
    ...(name === undefined ? {} : { name }),
    ...(note === undefined ? {} : { note }),
    ...(classifiers.length === 0 ? {} : { classifiers }),
    ...(timeLimitS === undefined ? {} : { timeLimit: timeLimitS }),
    ...(await modelOf(job, store)),
    inputScripts: await Promise.all(
      scripts.map(async (script) => ({ content: await base64Of(script), ...filenameOf(script) })),
    ),
    ...(Object.keys(files).length === 0 ? {} : { additionalFiles: await additionalFilesOf(files, store) }),
    ...(variablesToInject.length === 0 ? {} : { variablesToInject }),
  };
}

function classifiersOf({
  version,
  labels = [],
  priority,
}: Job): NonNullable<ExecuteBatchJobRequest['classifiers']> {
  return [
    ...(version === undefined ? [] : [{ type: 'VERSION' as const, value: version }]),
    ...(labels.length === 0 ? [] : [{ type: 'LABLES' as const, value: labels.join(',') }]),
    ...(priority === undefined ? [] : [{ type: 'PRIORITY' as const, value: priority }]),
  ];
}

/** The fields of a job that its task shows as they were. */
export function jobFields({
  name,
  note,
  classifiers,
  timeLimit,
}: Pick<TaskDetails, 'name' | 'note' | 'classifiers' | 'timeLimit'>): Omit<Job, 'scripts'> {
  const all = (type: string) => classifiers.filter((each) => each.type === type).map(({ value }) => value);
  const classifier = (type: string) => all(type)[0];
  const version = classifier('VERSION');
  // Lists of labels add up.
  const labels = all('LABLES').flatMap((value) => value.split(','));
  const priority = classifier('PRIORITY');
  return {
    ...(name === undefined ? {} : { name }),
    ...(note === undefined ? {} : { note }),
    ...(timeLimit === undefined ? {} : { timeLimitS: timeLimit }),
    ...(version === undefined ? {} : { version }),
    ...(labels.length === 0 ? {} : { labels }),
    ...(priority === undefined ? {} : { priority: priority as Priority }),
  };
}

type Model = Pick<ExecuteBatchJobRequest, 'inputModel' | 'inputModelReference'>;

async function modelOf({ model, modelType }: Job, store: StoreInput): Promise<Model> {
  if (model === undefined) return {};
  if (isObject(model) && 'hostPath' in model)
    return reference('LOCAL_FILESYSTEM', {
      pathToFile: model.hostPath,
      ...(model.copied ? { copyFileToWorkingDirectory: 'true' } : {}),
    });
  if (isObject(model) && 'storageName' in model) return storedModel(model);
  const type = modelType ?? modelTypeOfName(nameOf(model));
  if (type === undefined)
    throw new TypeError('modelType is missing: this model has no file name that tells its type');
  // The model is staged under its name in the storage (contract 3.4), whose ending tells the workbench its type.
  const stored = await store(blobOf(model), `.${type.toLowerCase()}`);
  if (stored !== undefined) return storedModel(stored, filenameOf(model));
  return { inputModel: { type, content: await base64Of(model), ...filenameOf(model) } };
}

function storedModel({ storageName }: StoredInput, filename: Named = {}): Model {
  return reference('INPUT_STORAGE', { name: storageName }, filename);
}

function reference(
  type: 'LOCAL_FILESYSTEM' | 'INPUT_STORAGE',
  values: Readonly<Record<string, string>>,
  filename: Named = {},
) {
  const parameters = Object.entries(values).map(([key, value]) => ({ key, value }));
  return { inputModelReference: { type, parameters, ...filename } };
}

interface Named {
  readonly filename?: string;
}

function nameOf(file: JobFile): string {
  return file instanceof Blob && 'name' in file ? String(file.name) : '';
}

/** The name of a file, unless the hub would refuse it (contract 3.5): it is not worth a failure. */
function filenameOf(file: JobFile): Named {
  const name = nameOf(file);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are rejected
  const isTaken = !/[\u0000-\u001f\u007f\\]|^[A-Za-z]:|^\.workbench-/.test(name) && name.isWellFormed();
  const areFolders = name.split('/').every((part) => {
    return !['', '.', '..'].includes(part) && new Blob([part]).size <= MAX_PART_BYTES;
  });
  return isTaken && areFolders && name.length <= MAX_FILENAME_LENGTH ? { filename: name } : {};
}

const MAX_FILENAME_LENGTH = 1024;
const MAX_PART_BYTES = 255;

/** Type of a model of this name: its ending, by which workbenches know it. */
export function modelTypeOfName(name: string): string | undefined {
  const ending = modelTypeOfStaged(name);
  return ending === undefined ? undefined : (TYPE_OF_ENDING[ending] ?? ending);
}

/** Type of a model that a task has under this name: `model.xml` has the type XML. */
export function modelTypeOfStaged(name: string): string | undefined {
  return /\.([A-Za-z0-9]{1,16})$/.exec(name)?.[1]?.toUpperCase();
}

async function additionalFilesOf(files: NonNullable<Job['files']>, store: StoreInput) {
  return Promise.all(
    Object.entries(files).map(async ([filename, file]) => {
      if (isObject(file) && 'storageName' in file) return { filename, storageName: file.storageName };
      const stored = await store(blobOf(file), '');
      return stored ? { filename, ...stored } : { filename, content: await base64Of(file) };
    }),
  );
}

function isObject(value: unknown): value is StoredInput | HostModel {
  return typeof value === 'object' && !(value instanceof Blob) && !(value instanceof Uint8Array);
}

/** A blob without a copy, if it is one already. */
function blobOf(file: JobFile): Blob {
  return file instanceof Blob ? file : new Blob([file as BlobPart]);
}

const CHUNK_BYTES = 0x8000;

async function base64Of(file: JobFile): Promise<string> {
  const bytes = new Uint8Array(await blobOf(file).arrayBuffer());
  let binary = '';
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK_BYTES));
  }
  return btoa(binary);
}
