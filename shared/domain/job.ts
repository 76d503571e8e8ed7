/** A job as the hub stores it and the agent receives it: files are referred to by their digest. */
import { MODEL_TYPE } from './instance.js';

/** Maximum size of a job as JSON (names, digests and variables; not file contents). */
export const MAX_JOB_BYTES = 4 * 1024 * 1024;

/** A stored blob: `digest` is its SHA-256 in lower-case hexadecimal. */
export interface FileRef {
  readonly digest: string;
  readonly sizeBytes: number;
  /** True when the hub stores the blob encrypted; other components need not know. */
  readonly encrypted?: true;
}

/** A file of a working directory: `path` is relative, with `/`. */
export interface NamedFileRef extends FileRef {
  readonly path: string;
}

/** An input that is staged under another name than it was handed in with. */
interface RenamedInput {
  /** Name for people, a relative path with `/`; absent when none was given. Agents use its ending at most. */
  readonly filename?: string;
}

/** A script of a job; its place in the list tells it from others. */
export type ScriptRef = FileRef & RenamedInput;

/** Ending of the name of a script that Windows runs by it, such as `.bat`; empty for any other. */
export function scriptEnding({ filename = '' }: Pick<ScriptRef, 'filename'>): string {
  return /\.(?:bat|cmd|ps1)$/i.exec(filename)?.[0].toLowerCase() ?? '';
}

export type ModelSource =
  /** A model that came with the task, staged at `path` (`model.<type>`). */
  | ({ readonly kind: 'BLOB' } & NamedFileRef & RenamedInput)
  /** A model on the simulation host. */
  | {
      readonly kind: 'LOCAL_FILESYSTEM';
      readonly pathToFile: string;
      readonly copyToWorkingDirectory: boolean;
    };

export interface SimulateWorkJob {
  readonly type: 'SIMULATE_WORK';
  readonly durationS: number;
}

export interface BatchJob {
  readonly type: 'EXECUTE_BATCH_JOB';
  readonly model: ModelSource | null;
  readonly scripts: readonly ScriptRef[];
  readonly additionalFiles: readonly NamedFileRef[];
  readonly variables: readonly Variable[];
  /** Points of a bundle, which run one after the other; absent for a job of its own (decision 0088). */
  readonly points?: readonly JobPoint[] | undefined;
  /** Time limit of each of these points. */
  readonly pointLimitMs?: number | undefined;
}

export interface Variable {
  readonly key: string;
  readonly value: string;
}

/** A point of a study: its variables, in addition to those of the job. */
export interface JobPoint {
  readonly number: number;
  readonly variables: readonly Variable[];
}

export type Job = SimulateWorkJob | BatchJob;

/** Type of a model with this name or path: its ending, in upper case; null when it has none that is a type. */
export function modelTypeOfName(name: string): string | null {
  const type = /\.([^./\\]*)$/.exec(name)?.[1]?.toUpperCase();
  return type !== undefined && MODEL_TYPE.test(type) ? type : null;
}

/** Type of the job's model; null without one. */
export function modelTypeOf(job: Job): string | null {
  if (job.type === 'SIMULATE_WORK' || job.model === null) return null;
  return modelTypeOfName(job.model.kind === 'BLOB' ? job.model.path : job.model.pathToFile);
}

/** The job without the names that its model and scripts were handed in with. */
export function withoutFilenames(job: Job): Job {
  if (job.type === 'SIMULATE_WORK') return job;
  const { model, scripts } = job;
  return { ...job, model: model && withoutFilename(model), scripts: scripts.map(withoutFilename) };
}

function withoutFilename<Input extends RenamedInput | ModelSource>(input: Input): Input {
  if (!('filename' in input)) return input;
  const { filename: _, ...rest } = input;
  return rest as Input;
}

/** Blobs that the job needs. */
export function filesOfJob(job: Job): FileRef[] {
  if (job.type === 'SIMULATE_WORK') return [];
  const model = job.model?.kind === 'BLOB' ? [job.model] : [];
  return [...job.scripts, ...model, ...job.additionalFiles];
}
