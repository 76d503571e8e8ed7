/** Attempts on this agent, from `assign` to the report. */
import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import type { Job } from '@workbench-hub/shared/domain/job';
import { canTransition } from '@workbench-hub/shared/domain/state-machine';
import { type AttemptRef, attemptKey } from '@workbench-hub/shared/domain/task';
import type { Assignment, HeldAttempt, HubConnection } from '@workbench-hub/shared/joining/ports/hub';
import type { Tracing } from '@workbench-hub/shared/joining/ports/tracing';
import type { Reporting } from '@workbench-hub/shared/joining/reporting';
import { attemptReport, type Ending } from '@workbench-hub/shared/joining/reports';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { ATTEMPT_TRANSITIONS, type AttemptPhase } from '../../core/attempt-states.js';
import type { ReportFolder, Spool } from '../../core/ports/spool.js';
import type { Instances } from '../instances.js';
import { AttemptRun, type EndReason } from './attempt-run.js';
import type { BatchEnd, BatchJobs } from './batch-job.js';
import { inSpan } from './in-span.js';
import { TaskLog } from './task-log.js';

export interface JobsOptions {
  readonly instances: Instances;
  readonly reporting: Reporting;
  readonly batchJobs: BatchJobs;
  readonly spool: Spool;
  readonly runtime: Runtime;
  readonly log: Logger;
  readonly tracing: Tracing;
  readonly connection: () => HubConnection | null;
  /** Size above which the middle of a task's log is left out. */
  readonly taskLogLimitBytes: number;
}

export class Jobs {
  readonly #options: JobsOptions;
  readonly #running = new Map<string, { readonly run: AttemptRun; readonly ended: Promise<void> }>();
  #stopping = false;

  constructor(options: JobsOptions) {
    this.#options = options;
  }

  /** Attempts without a report. */
  running(): HeldAttempt[] {
    return [...this.#running.values()].map(({ run: { ref, proof } }) => ({ ...ref, proof }));
  }

  assign(assignment: Assignment): void {
    const { ref, job, timeLimitMs, requestId, proof } = assignment;
    const { instances, reporting, log } = this.#options;
    const phase = this.#phaseOf(ref);
    if (!canTransition<AttemptPhase>(ATTEMPT_TRANSITIONS.begin, phase)) {
      log.warn({ ...ref, requestId, phase }, 'ignored an assign: the attempt was assigned before');
      return;
    }
    const claim = this.#stopping
      ? undefined
      : instances.reserve(ref.instanceId, { taskId: ref.taskId, requestId });
    if (!claim) {
      const message = this.#stopping ? 'the agent is stopping' : 'the instance is not ready for a task';
      reporting.add({ report: attemptReport(ref, { outcome: 'RETURNED', message }), folder: null, proof });
      return;
    }
    const run = new AttemptRun(ref, claim, timeLimitMs, assignment);
    log.debug(run.names, 'attempt begins');
    this.#running.set(attemptKey(ref), { run, ended: this.#run(run, job) });
  }

  /** Ends a running attempt. Others have been reported already. */
  cancel(ref: AttemptRef): void {
    const running = this.#running.get(attemptKey(ref));
    if (running) this.#end(running.run, 'CANCEL');
    else this.#options.log.debug({ ...ref }, 'ignored a cancel: the attempt is not running');
  }

  /** Sends the latest output of running scripts to a hub that was joined again. */
  joined(): void {
    for (const { run } of this.#running.values()) run.taskLog?.resend();
  }

  /** Declines new attempts, and returns running ones when their program has ended. */
  evict(): void {
    this.#stopping = true;
    for (const { run } of this.#running.values()) this.#end(run, 'AGENT_STOPS');
  }

  /** Resolves when no attempt runs. */
  async ended(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }

  #phaseOf(ref: AttemptRef): AttemptPhase {
    return (
      this.#running.get(attemptKey(ref))?.run.phase ??
      (this.#options.reporting.has(ref) ? 'PENDING_ACK' : '-')
    );
  }

  #end(run: AttemptRun, reason: EndReason): void {
    if (run.end(reason)) return;
    this.#options.log.info({ ...run.names, reason, phase: run.phase }, 'ignored a stale attempt transition');
  }

  /** Never rejects. The attempt is running or reported at every moment: a hub that is joined in between would otherwise presume
   *  it lost. */
  async #run(run: AttemptRun, job: Job): Promise<void> {
    const folder = new LazyFolder(() => this.#options.spool.createFolder(run.ref));
    const print = (text: string) => {
      run.taskLog ??= this.#taskLog(run, folder);
      return run.taskLog.append(text);
    };
    run.claim.listen(print);

    const { ending, outputFiles, storedFiles, checkpoint } = await this.#work(run, job, folder, print);
    if (ending.outcome === 'RETURNED') {
      await this.#return(run, ending, folder, checkpoint);
      return;
    }
    if (job.type === 'EXECUTE_BATCH_JOB' && ending.outcome === 'OK') this.#options.instances.hostRecovered();
    const log = await this.#finishLog(run);
    const report = attemptReport(run.ref, ending, { outputFiles, log, storedFiles });
    this.#options.log.debug({ outcome: ending.outcome, ...run.names }, 'attempt ended');
    const folderName = folder.isOpened ? await folder.name() : null;
    this.#running.delete(attemptKey(run.ref));
    run.claim.release(ending.outcome === 'OK' || ending.outcome === 'ERROR');
    this.#report(run, report, folderName);
  }

  #report({ traceContext, proof }: AttemptRun, report: AttemptReport, folder: string | null): void {
    this.#options.reporting.add({ report, folder, traceContext, proof });
  }

  /** Null when nothing was printed, or the log could not be kept. */
  async #finishLog({ taskLog, names }: AttemptRun): Promise<AttemptReport['log']> {
    try {
      return (await taskLog?.finish()) ?? null;
    } catch (error) {
      this.#options.log.error({ err: error, ...names }, "a task's log could not be kept");
      return null;
    }
  }

  #taskLog(run: AttemptRun, folder: LazyFolder): TaskLog {
    return new TaskLog(run.ref, {
      runtime: this.#options.runtime,
      limitBytes: this.#options.taskLogLimitBytes,
      openWriter: async () => (await folder.open()).begin(),
      makeRoom: () => this.#options.spool.makeRoom(),
      connection: this.#options.connection,
    });
  }

  async #work(
    run: AttemptRun,
    job: Job,
    folder: LazyFolder,
    print: (text: string) => void,
  ): Promise<BatchEnd> {
    let end: BatchEnd;
    try {
      if (job.type === 'SIMULATE_WORK') {
        const durationMs = job.durationS * 1000;
        await inSpan(this.#options.tracing, 'run', run, () =>
          run.call(this.#options.runtime, (program) => program.simulateWork(run.names, durationMs)),
        );
        end = { ending: { outcome: 'OK', message: null }, outputFiles: [] };
      } else {
        const tell = (line: string) => print(`[agent] ${line}\n`);
        end = await this.#options.batchJobs.run(run, job, () => folder.open(), tell);
      }
    } catch (error) {
      end = { ending: run.endingOf(error), outputFiles: [] };
    }
    // Also when the cancel came after the work was done; the files are kept.
    return run.endReason === 'CANCEL' ? { ...end, ending: run.endingByReason() ?? end.ending } : end;
  }

  /** Returns the attempt because the agent stops, for a host fault, or because it was lost through another job, so that the hub
   *  requeues the task at once. */
  async #return(
    run: AttemptRun,
    ending: Ending,
    folder: LazyFolder,
    checkpoint: AttemptReport['checkpoint'],
  ): Promise<void> {
    const isHostFault = ending.hostFault === true;
    // It may be the last permitted loss: then the log is part of the task's result.
    const log = isHostFault ? await this.#finishLog(run) : null;
    const hasFiles = log !== null || (checkpoint !== undefined && checkpoint.length > 0);
    const folderName = hasFiles ? await folder.name() : null;
    try {
      if (!isHostFault) await run.taskLog?.abandon();
      if (!hasFiles && folder.isOpened) await folder.discard();
    } catch (error) {
      this.#options.log.warn(
        { err: error, ...run.names },
        'files of a returned attempt stay in the spool until the next start',
      );
    }
    const report = attemptReport(run.ref, ending, { outputFiles: [], log, checkpoint });
    if (isHostFault) {
      const reason = ending.message ?? '';
      this.#options.log.error({ ...run.names, reason }, 'returned a task because of a host fault');
      // Before the report: the released instance must not look ready for the next task.
      this.#options.instances.coolDown(reason);
    }
    this.#running.delete(attemptKey(run.ref));
    run.claim.release(false);
    if (run.endReason === null || folderName !== null) this.#report(run, report, folderName);
    // A stopping agent spools nothing else: a hub that is joined later without this attempt presumes it lost.
    else this.#options.connection()?.sendReport(report);
  }
}

/** A folder of the spool that is created on demand. */
class LazyFolder {
  readonly #create: () => Promise<ReportFolder>;
  #folder: Promise<ReportFolder> | null = null;

  constructor(create: () => Promise<ReportFolder>) {
    this.#create = create;
  }

  open(): Promise<ReportFolder> {
    if (this.#folder === null) {
      const made = this.#create();
      this.#folder = made;
      made.catch(() => {
        // There may be room for it later.
        if (this.#folder === made) this.#folder = null;
      });
    }
    return this.#folder;
  }

  get isOpened(): boolean {
    return this.#folder !== null;
  }

  /** Null when it could not be created; `open` has rejected with the reason. */
  async name(): Promise<string | null> {
    const folder = await this.open().catch(() => null);
    return folder?.name ?? null;
  }

  async discard(): Promise<void> {
    await (await this.open()).discard();
  }
}
