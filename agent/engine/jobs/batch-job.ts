/** EXECUTE_BATCH_JOB: stages files, runs scripts, collects outputs. */

import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import {
  type BatchJob,
  type FileRef,
  filesOfJob,
  type JobPoint,
  type ModelSource,
  scriptEnding,
} from '@workbench-hub/shared/domain/job';
import type { KeepPolicy } from '@workbench-hub/shared/domain/keep-policy';
import { pathConflict, relativePathFault } from '@workbench-hub/shared/domain/relative-path';
import { eachOf } from '@workbench-hub/shared/joining/each-of';
import type { Tracing } from '@workbench-hub/shared/joining/ports/tracing';
import { type Ending, fitsReport } from '@workbench-hub/shared/joining/reports';
import { withAnyOf } from '@workbench-hub/shared/runtime/abortable';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { messageOf } from '@workbench-hub/shared/runtime/message-of';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { HostFault, hasNoRoom, inOwnFolders } from '../../core/host-fault.js';
import { injectedEnvironment, jobEnvironment, variablesObject } from '../../core/job-environment.js';
import { baseName, liesIn, mountedPath } from '../../core/local-model.js';
import type { OutputLimits } from '../../core/outputs.js';
import { type BatchRun, JobFailed, type PointRun } from '../../core/ports/programs.js';
import type { ReportFolder } from '../../core/ports/spool.js';
import { FileNotReadable, type WorkingDirectory, type Workspace } from '../../core/ports/workspace.js';
import type { AttemptRun } from './attempt-run.js';
import type { Blobs } from './blobs.js';
import { DiskWatch, type Watch } from './disk-watch.js';
import { inSpan } from './in-span.js';

export interface BatchSettings {
  /** Folders from which LOCAL_FILESYSTEM models may be read. */
  readonly fileRoots: readonly string[];
  /** Mount points of UNC shares. */
  readonly uncMounts: Readonly<Record<string, string>>;
  readonly keepWorkingDirectories: KeepPolicy;
  readonly outputLimits: OutputLimits;
  /** Reason why this host cannot have a file at a path, as "must …"; undefined when it can. */
  readonly hostPathFault: (path: string) => string | undefined;
}

export interface BatchJobOptions {
  readonly blobs: Blobs;
  readonly workspace: Workspace;
  readonly runtime: Runtime;
  readonly log: Logger;
  readonly tracing: Tracing;
  /** Whether the hub accepts files for its output storage. */
  readonly isOutputStorageOn: () => boolean;
}

export interface BatchEnd {
  readonly ending: Ending;
  readonly outputFiles: AttemptReport['outputFiles'];
  readonly storedFiles?: AttemptReport['storedFiles'] | undefined;
  readonly checkpoint?: AttemptReport['checkpoint'] | undefined;
}

/** Model file of this host, and the folder of `fileRoots` that contains it; links are resolved. */
interface LocatedModel {
  readonly path: string;
  readonly root: string;
}

/** Paths that points of a bundle do not get. */
const NONE_FOR_POINTS = { variables: null, outputStorage: null, checkpoint: null };

const TRANSFERS_AT_A_TIME = 4;
/** Number of libuv's threads. */
const COPIES_AT_A_TIME = 4;

export class BatchJobs {
  readonly #settings: BatchSettings;
  readonly #options: BatchJobOptions;
  readonly #disks: DiskWatch;

  constructor(settings: BatchSettings, options: BatchJobOptions) {
    this.#settings = settings;
    this.#options = options;
    this.#disks = new DiskWatch(options);
  }

  /** Runs the job to any end; rejects only when the directory could not be created. `folder` returns the folder of the outputs,
   *  created on demand. `print` adds lines to the task's log. */
  async run(
    run: AttemptRun,
    job: BatchJob,
    folder: () => Promise<ReportFolder>,
    print: (line: string) => void,
  ): Promise<BatchEnd> {
    const directory = await this.#directoryOf(run);
    let end: BatchEnd;
    try {
      end = await this.#runIn(directory, run, job, folder, print);
    } catch (error) {
      end = { ending: run.endingOf(error), outputFiles: [] };
      await endProgramWithDirectory(run);
    }
    // After the end of its program, its files may be the cause.
    const { ending } = end;
    if (ending.outcome === 'RETURNED' && run.endReason === 'AGENT_STOPS' && run.isCalled)
      end = { ...end, ...(await this.#keepCheckpoint(directory, run, folder, ending)) };
    await this.#leave(directory, end.ending);
    return end;
  }

  async #directoryOf(run: AttemptRun): Promise<WorkingDirectory> {
    try {
      return await inOwnFolders('a working directory could not be created', () =>
        this.#options.workspace.create(run.ref, run.claim.program.directory),
      );
    } catch (error) {
      // Somebody may have removed the directory of its program.
      await endProgramWithDirectory(run);
      throw error;
    }
  }

  async #runIn(
    directory: WorkingDirectory,
    run: AttemptRun,
    job: BatchJob,
    folder: () => Promise<ReportFolder>,
    print: (line: string) => void,
  ): Promise<BatchEnd> {
    const { tracing } = this.#options;
    const { model, scripts } = await inSpan(tracing, 'staging', run, () =>
      withAnyOf([run.signal, run.claim.lost], (ended) => this.#stage(directory, run, job, print, ended)),
    );
    const { taskId, requestId } = run.names;
    const { points, pointLimitMs } = job;
    const { variables, outputStorage, checkpoint } = points ? NONE_FOR_POINTS : directory;
    const batch: BatchRun = {
      taskId,
      requestId,
      workingDirectory: directory.files,
      scripts,
      model,
      variables: variablesObject(job.variables),
      environment: jobEnvironment(taskId, job.variables, { model, variables, outputStorage, checkpoint }),
      ...(points && { points: points.map(pointRun), pointLimitMs }),
    };
    const ending = await inSpan(
      tracing,
      'run',
      run,
      () => this.#execute(run, batch, directory),
      ({ outcome }) => outcome === 'OK',
    );
    const files = await inSpan(tracing, 'collect', run, () =>
      inOwnFolders('the outputs could not be kept', () => this.#collect(directory, run, folder, print)),
    );
    return { ending, ...files };
  }

  /** Collects the outputs; of a job that was ended early, as many as the limits allow. */
  async #collect(
    directory: WorkingDirectory,
    run: AttemptRun,
    folder: () => Promise<ReportFolder>,
    print: (line: string) => void,
  ): Promise<Omit<BatchEnd, 'ending'>> {
    const { keepWorkingDirectories, outputLimits: limits } = this.#settings;
    const collected = await directory.collect(folder, {
      limits,
      isPartial: run.endReason !== null,
      stay: keepWorkingDirectories !== 'never',
      isStored: this.#options.isOutputStorageOn(),
    });
    const { files, skipped, storedFiles, notStored } = collected;
    for (const { name, why } of skipped.named) print(`${JSON.stringify(name)} is no output file: ${why}`);
    if (skipped.others > 0) print(`${skipped.others} other entries are no output files either`);
    for (const { name, why } of notStored.named) {
      print(`${JSON.stringify(name)} in WORKBENCH_OUTPUT_STORAGE is not stored: ${why}`);
    }
    if (notStored.others > 0)
      print(`${notStored.others} other entries in WORKBENCH_OUTPUT_STORAGE are not stored either`);
    return { outputFiles: files, storedFiles };
  }

  /** Collects what the next attempt gets; none if that is what this one had, or nothing. */
  async #keepCheckpoint(
    directory: WorkingDirectory,
    run: AttemptRun,
    folder: () => Promise<ReportFolder>,
    ending: Ending,
  ): Promise<Pick<BatchEnd, 'ending' | 'checkpoint'>> {
    const { keepWorkingDirectories, outputLimits: limits } = this.#settings;
    try {
      const files = await directory.collectCheckpoint(folder, {
        limits,
        stay: keepWorkingDirectories === 'always',
      });
      if (!fitsReport(files)) throw new JobFailed('its names are too long for a report');
      return { ending, checkpoint: files.length === 0 && !run.isRestored ? undefined : files };
    } catch (error) {
      const why = messageOf(error);
      this.#options.log.warn(
        { err: error, ...run.names },
        'the checkpoint of a returned attempt was not kept',
      );
      return { ending: { ...ending, message: `${ending.message}; its checkpoint was not kept: ${why}` } };
    }
  }

  /** Runs the scripts. Resolves also when a cancel or the time limit ended them early, so that their outputs are collected. */
  async #execute(run: AttemptRun, batch: BatchRun, directory: WorkingDirectory): Promise<Ending> {
    const watch = this.#disks.begin();
    let completed = false;
    try {
      const end = await run.call(this.#options.runtime, (program) => program.executeBatchJob(batch));
      if (end.status === 'ERROR') await blameDisk(watch, directory, run, end.message);
      completed = true;
      return { outcome: end.status, message: end.message };
    } catch (error) {
      const endedEarly = run.endReason === 'AGENT_STOPS' ? undefined : run.endingByReason();
      if (endedEarly !== undefined) return endedEarly;
      if (error instanceof JobFailed) await blameDisk(watch, directory, run, error.message);
      throw error;
    } finally {
      watch.stop();
      // Before anything is collected: a daemon would still write. Leftovers of a lost program end with it.
      if (!run.claim.lost.aborted) await run.claim.endJob(batch.taskId, completed);
    }
  }

  async #stage(
    directory: WorkingDirectory,
    run: AttemptRun,
    job: BatchJob,
    print: (line: string) => void,
    signal: AbortSignal,
  ) {
    this.#refuseForeignNames(job);
    const files = filesOfJob(job);
    const local = job.model?.kind === 'LOCAL_FILESYSTEM' ? await this.#locate(job.model) : null;
    const scripts: string[] = [];
    let model: string | null = null;
    let sizeBytes = 0;
    for (const file of files) sizeBytes += file.sizeBytes;
    await inOwnFolders(`the files of the job (${sizeBytes} bytes) could not be staged`, async () => {
      const placed: (() => Promise<unknown>)[] = [
        () => directory.writeVariables(variablesObject(job.variables)),
        ...job.scripts.map((script, index) => async () => {
          scripts[index] = await directory.placeScript(index, script.digest, scriptEnding(script));
        }),
        ...job.additionalFiles.map(
          ({ path, digest }) =>
            () =>
              directory.placeFile(path, digest),
        ),
      ];
      if (job.model?.kind === 'BLOB') {
        const { path, digest } = job.model;
        placed.push(async () => {
          model = await directory.placeFile(path, digest);
        });
      }
      await this.#withBlobs(files, signal, () =>
        eachOf(placed, COPIES_AT_A_TIME, async (place) => void (await place())),
      );
      if (job.model?.kind === 'LOCAL_FILESYSTEM' && local !== null) {
        model = job.model.copyToWorkingDirectory
          ? await this.#copyModel(directory, job, job.model, local)
          : local.path;
      }
      await directory.seal();
    });
    await this.#restoreCheckpoint(directory, run, print, signal);
    signal.throwIfAborted();
    return { model, scripts };
  }

  /** Places the checkpoint of an earlier attempt. The job starts without one that cannot be had here. */
  async #restoreCheckpoint(
    directory: WorkingDirectory,
    run: AttemptRun,
    print: (line: string) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const { checkpoint } = run;
    if (checkpoint.length === 0) return;
    try {
      for (const { path } of checkpoint) {
        const fault = this.#settings.hostPathFault(path);
        if (fault !== undefined) throw new JobFailed(`the name of its file ${JSON.stringify(path)} ${fault}`);
      }
      await inOwnFolders('the checkpoint of the job could not be staged', () =>
        this.#withBlobs(checkpoint, signal, () =>
          eachOf(checkpoint, COPIES_AT_A_TIME, ({ path, digest }) => directory.placeCheckpoint(path, digest)),
        ),
      );
      run.isRestored = true;
      print(
        `restored the checkpoint of an earlier attempt to WORKBENCH_CHECKPOINT: ${filesText(checkpoint)}`,
      );
    } catch (error) {
      if (signal.aborted || error instanceof HostFault) throw error;
      await directory.clearCheckpoint();
      print(`starts without the checkpoint of an earlier attempt: ${messageOf(error)}`);
    }
  }

  /** Throws {@link JobFailed} for a file name that this host cannot have; the hub does not know the host in advance. */
  #refuseForeignNames({ model, additionalFiles }: BatchJob): void {
    const paths = additionalFiles.map(({ path }) => path);
    if (model?.kind === 'BLOB') paths.unshift(model.path);
    for (const path of paths) {
      const fault = this.#settings.hostPathFault(path);
      if (fault === undefined) continue;
      throw new JobFailed(
        `the file ${JSON.stringify(path)} cannot be staged on the agent's host: its name ${fault}; give it another name`,
      );
    }
  }

  /** Pins the blobs in the cache while `use` copies them. */
  async #withBlobs(files: readonly FileRef[], signal: AbortSignal, use: () => Promise<void>): Promise<void> {
    const { blobs } = this.#options;
    const pinned: FileRef[] = [];
    try {
      await eachOf(files, TRANSFERS_AT_A_TIME, async (file) => {
        await blobs.pin(file, signal);
        pinned.push(file);
      });
      await use();
    } finally {
      for (const file of pinned) blobs.unpin(file);
    }
  }

  async #locate({ pathToFile }: ModelSource & { kind: 'LOCAL_FILESYSTEM' }): Promise<LocatedModel> {
    const { fileRoots, uncMounts } = this.#settings;
    const path = mountedPath(pathToFile, uncMounts);
    const shown = JSON.stringify(pathToFile);
    const outside = `the model ${shown} is not in a folder that this agent may read (setting "fileRoots")`;
    if (path === undefined) throw new JobFailed(`${outside}: its share is not mounted (setting "uncMounts")`);
    const { workspace } = this.#options;
    try {
      const real = await workspace.resolve(path);
      const roots = await workspace.resolveFolders(fileRoots);
      const root = roots.find((folder) => liesIn(real, folder));
      if (root === undefined) throw new JobFailed(outside);
      return { path: real, root };
    } catch (error) {
      if (!(error instanceof FileNotReadable)) throw error;
      // Paths outside the roots get the same message whether they exist or not, so that it reveals nothing.
      const isInRoots = fileRoots.some((root) => liesIn(path, root)) && !path.split(/[\\/]/).includes('..');
      if (!isInRoots) throw new JobFailed(outside, { cause: error });
      throw new JobFailed(
        `the model ${shown} cannot be read on the agent's host, in the folders of its setting "fileRoots": ${error.message}`,
        { cause: error },
      );
    }
  }

  async #copyModel(
    directory: WorkingDirectory,
    job: BatchJob,
    { pathToFile }: ModelSource & { kind: 'LOCAL_FILESYSTEM' },
    { path, root }: LocatedModel,
  ): Promise<string> {
    const name = baseName(pathToFile);
    const conflict = pathConflict([...job.additionalFiles.map(({ path }) => path), name])?.fault;
    const fault = relativePathFault(name) ?? this.#settings.hostPathFault(name) ?? conflict;
    if (fault !== undefined) {
      throw new JobFailed(
        `the model cannot be copied into the working directory: its name ${JSON.stringify(name)} ${fault}`,
      );
    }
    try {
      return await directory.placeLocalFile(name, path, root);
    } catch (error) {
      if (!(error instanceof FileNotReadable)) throw error;
      const shown = JSON.stringify(pathToFile);
      throw new JobFailed(
        `the model ${shown} cannot be copied into the working directory: ${error.message}`,
        {
          cause: error,
        },
      );
    }
  }

  async #leave(directory: WorkingDirectory, { outcome }: Ending): Promise<void> {
    const policy = this.#settings.keepWorkingDirectories;
    const failed = outcome === 'ERROR' || outcome === 'FAILED' || outcome === 'INSTANCE_LOST';
    try {
      if (policy === 'always' || (policy === 'failed' && failed)) await directory.keep();
      else await directory.discard();
    } catch (error) {
      this.#options.log.warn(
        { err: error },
        'a working directory could not be removed; the next start tries again',
      );
    }
  }
}

function filesText({ length }: readonly unknown[]): string {
  return length === 1 ? '1 file' : `${length} files`;
}

function pointRun({ number, variables }: JobPoint): PointRun {
  return { number, variables: variablesObject(variables), environment: injectedEnvironment(variables) };
}

/** Rejects with {@link HostFault} when a disk was full while a failed job ran: another host may run it. */
async function blameDisk(
  watch: Watch,
  directory: WorkingDirectory,
  { taskLog }: AttemptRun,
  message: string | null,
): Promise<void> {
  let cause = await watch.seen();
  if (hasNoRoom(taskLog?.fault)) cause ??= "the task's log could not be written";
  else if (cause === undefined && !(await directory.takesMore()))
    cause = 'its working directory accepts no more data';
  if (cause === undefined) return;
  const detail = message === null ? '' : `; the job failed: ${message}`;
  throw new HostFault(`the disk of the agent's host was full while the job ran (${cause})${detail}`);
}

/** Ends a program that has a directory for one job: it cannot use another one, and its successor gets a new one. */
async function endProgramWithDirectory({ ref, claim }: AttemptRun): Promise<void> {
  if (claim.program.directory !== null) await claim.endJob(ref.taskId, false);
}
