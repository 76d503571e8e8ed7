/** What an attempt has to do, as the hub keeps it and the agent gets it: file contents are named by their digest. */

/** The description of a job (names, digests, variables; not file contents) may have this many bytes as JSON. */
export const MAX_JOB_BYTES = 4 * 1024 * 1024;

/** A stored content: `digest` is its SHA-256 in lower-case hexadecimal. */
export interface FileRef {
  readonly digest: string;
  readonly sizeBytes: number;
  /** The hub keeps it encrypted; nobody else need know. */
  readonly encrypted?: true;
}

/** A file of a working directory: `path` is relative, with `/`. */
export interface NamedFileRef extends FileRef {
  readonly path: string;
}

export type ModelSource =
  /** Content that came with the task, staged under `path` (`model.<type>`). */
  | ({ readonly kind: 'BLOB' } & NamedFileRef)
  /** A file that the simulation host can read itself. */
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
  readonly scripts: readonly FileRef[];
  readonly additionalFiles: readonly NamedFileRef[];
  readonly variables: readonly { readonly key: string; readonly value: string }[];
}

export type Job = SimulateWorkJob | BatchJob;

/** Every stored content that the job needs. */
export function filesOfJob(job: Job): FileRef[] {
  if (job.type === 'SIMULATE_WORK') return [];
  const model = job.model?.kind === 'BLOB' ? [job.model] : [];
  return [...job.scripts, ...model, ...job.additionalFiles];
}
