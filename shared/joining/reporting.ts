/** Delivers reports of ended attempts: uploads their blobs, then sends each report, again to each joined hub, until it is
 *  acknowledged. Meanwhile reports are in the spool, from which the next start of the agent resumes. */

import pLimit from 'p-limit';
import type { AttemptReport } from '../domain/attempt.js';
import { type AttemptRef, attemptKey } from '../domain/task.js';
import { backOff } from '../runtime/back-off.js';
import type { Logger } from '../runtime/logger.js';
import { messageOf } from '../runtime/message-of.js';
import { pause } from '../runtime/pause.js';
import type { Runtime } from '../runtime/runtime.js';
import { eachOf } from './each-of.js';
import { type FileTransfer, type HeldAttempt, type HubConnection, TransferFailed } from './ports/hub.js';
import type { ReportSpool, SpooledReport } from './ports/spool.js';
import type { Span, Tracing } from './ports/tracing.js';
import { attemptReport, filesOfReport, withoutCheckpoint } from './reports.js';

export interface ReportingOptions {
  readonly spool: ReportSpool;
  readonly runtime: Runtime;
  readonly log: Logger;
  readonly tracing: Tracing;
}

/** Number of reports whose blobs are uploaded concurrently. */
const UPLOADS_AT_A_TIME = 4;
/** Number of concurrent uploads for each report. */
const BLOBS_AT_A_TIME = 4;
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 30_000;

export class Reporting {
  readonly #options: ReportingOptions;
  /** Reports in the order in which the attempts ended. */
  readonly #outstanding = new Map<string, SpooledReport>();
  #connection: HubConnection | null = null;
  /** A signal for each connection beside its own, for whose end any number of reports may wait. */
  readonly #ended = new WeakMap<HubConnection, AbortSignal>();
  /** Runs a few uploads at a time, in the order of the calls. */
  readonly #upToLimit = pLimit(UPLOADS_AT_A_TIME);
  #onDelivered: (() => void)[] = [];
  #onCheckpoints: (() => void)[] = [];

  constructor(options: ReportingOptions) {
    this.#options = options;
    for (const spooled of options.spool.leftOver) this.#outstanding.set(attemptKey(spooled.report), spooled);
  }

  /** Attempts whose report is not acknowledged. */
  pending(): HeldAttempt[] {
    return [...this.#outstanding.values()].map(({ report: { taskId, attempt, instanceId }, proof }) => ({
      taskId,
      attempt,
      instanceId,
      proof,
    }));
  }

  /** Number of attempts whose report is not acknowledged. */
  get count(): number {
    return this.#outstanding.size;
  }

  /** Whether a report with a checkpoint is not acknowledged. */
  get hasCheckpoints(): boolean {
    return [...this.#outstanding.values()].some(({ report }) => report.checkpoint !== undefined);
  }

  has(ref: AttemptRef): boolean {
    return this.#outstanding.has(attemptKey(ref));
  }

  /** True when no report is pending, or no hub is connected. */
  get isDelivered(): boolean {
    return this.#outstanding.size === 0 || this.#connection === null;
  }

  /** Resolves when {@link isDelivered}. */
  async delivered(): Promise<void> {
    if (!this.isDelivered) await new Promise<void>((resolve) => this.#onDelivered.push(resolve));
  }

  /** Resolves when no report with a checkpoint is pending. */
  async checkpointsDelivered(): Promise<void> {
    if (this.hasCheckpoints) await new Promise<void>((resolve) => this.#onCheckpoints.push(resolve));
  }

  /** Replaces the pending reports with checkpoints by ones without. */
  leaveCheckpointsOut(): void {
    for (const { report, folder, proof } of [...this.#outstanding.values()])
      if (report.checkpoint !== undefined) this.add({ report: withoutCheckpoint(report), folder, proof });
  }

  #tellDelivered(): void {
    if (!this.hasCheckpoints) for (const resolve of this.#onCheckpoints.splice(0)) resolve();
    if (this.isDelivered) for (const resolve of this.#onDelivered.splice(0)) resolve();
  }

  /** Adds a report, which is sent to the connected hub, or to the next one. */
  add(spooled: SpooledReport): void {
    this.#outstanding.set(attemptKey(spooled.report), spooled);
    // Sent first: the hub need not wait for this disk.
    if (this.#connection && !this.#sendAtOnce(spooled, this.#connection))
      this.#deliver(spooled, this.#connection);
    this.#options.spool.put(spooled).catch((error: unknown) => {
      this.#options.log.error(
        { err: error },
        'a report could not be spooled yet: it is lost if this agent is killed before there is room for it',
      );
    });
  }

  /** Delivers all reports to this hub from now on. */
  joined(connection: HubConnection): void {
    this.#connection = connection;
    connection.ended.addEventListener('abort', () => {
      if (this.#connection === connection) this.#connection = null;
      this.#tellDelivered();
    });
    for (const spooled of this.#outstanding.values()) this.#deliver(spooled, connection);
  }

  acknowledged(ref: AttemptRef, counted: boolean): void {
    const key = attemptKey(ref);
    const spooled = this.#outstanding.get(key);
    if (!spooled) return;
    this.#outstanding.delete(key);
    this.#tellDelivered();
    if (!counted) this.#options.log.info({ ref }, 'the hub dropped a report that no longer counts');
    this.#options.spool.acknowledge(spooled).catch((error: unknown) => {
      this.#options.log.error({ err: error }, 'an acknowledged report could not be removed from the spool');
    });
  }

  /** Sends a report with its blobs if they are small; false when they must be uploaded before. Only the first time: a hub that has no
   *  room for them says so when they are uploaded. */
  #sendAtOnce(spooled: SpooledReport, connection: HubConnection): boolean {
    const { report, folder, traceContext } = spooled;
    const files = filesOfReport(report);
    const sizeBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0);
    if (folder === null || files.length === 0 || sizeBytes > connection.inlineBlobBytes) return false;
    const { spool, tracing } = this.#options;
    const span = tracing.begin('upload', traceContext, {
      'workbench.task.id': report.taskId,
      'workbench.attempt': report.attempt,
      'workbench.files': files.length,
    });
    const send = (blobs: readonly Buffer[]) => {
      connection.sendReport(report, blobs);
      span.end('OK');
    };
    const damaged = (error: unknown) => {
      span.end('ERROR');
      if (error instanceof TransferFailed) this.#deliver(spooled, connection);
      else this.#reportDamage(spooled, error);
    };
    try {
      const blobs = files.map((file) => spool.readSmall(folder, file));
      if (areRead(blobs)) send(blobs);
      else void Promise.all(blobs).then(send).catch(damaged);
    } catch (error) {
      damaged(error);
    }
    return true;
  }

  #deliver(spooled: SpooledReport, connection: HubConnection): void {
    const { report, folder } = spooled;
    if (folder === null || filesOfReport(report).length === 0) {
      connection.sendReport(report);
      return;
    }
    void this.#uploadAll(spooled, folder, connection).then((isUploaded) => {
      if (isUploaded) connection.sendReport(report);
    });
  }

  /** One for all reports: in Node.js 20 each use of `AbortSignal.any` stays at its source. */
  #endOf(connection: HubConnection): AbortSignal {
    const known = this.#ended.get(connection);
    const ended = known ?? AbortSignal.any([connection.ended]);
    if (!known) this.#ended.set(connection, ended);
    return ended;
  }

  /** True when the hub has all blobs and the report may be sent. Never rejects: a failed delivery is repeated, or replaced by
   *  another report. */
  async #uploadAll(spooled: SpooledReport, folder: string, connection: HubConnection): Promise<boolean> {
    const { runtime, log, tracing } = this.#options;
    const { report } = spooled;
    const { taskId, attempt } = report;
    const stillWanted = () =>
      !connection.ended.aborted && this.#outstanding.get(attemptKey(report)) === spooled;
    const pauses = backOff(FIRST_RETRY_MS, LONGEST_RETRY_MS, runtime.random);
    const ended = this.#endOf(connection);
    let span: Span | undefined;
    let lastReason = '';
    const once = async (): Promise<'DONE' | 'GIVEN_UP' | 'AGAIN'> => {
      if (!stillWanted()) return 'GIVEN_UP';
      span ??= tracing.begin('upload', spooled.traceContext, {
        'workbench.task.id': taskId,
        'workbench.attempt': attempt,
        'workbench.files': filesOfReport(report).length,
      });
      try {
        await this.#upload(report, folder, connection.files, ended);
        return stillWanted() ? 'DONE' : 'GIVEN_UP';
      } catch (error) {
        if (!stillWanted()) return 'GIVEN_UP';
        if (!(error instanceof TransferFailed)) {
          this.#reportDamage(spooled, error);
          return 'GIVEN_UP';
        }
        if (error.message !== lastReason) {
          log.warn({ taskId, reason: error.message }, 'uploading a result failed; trying again');
        }
        lastReason = error.message;
        return 'AGAIN';
      }
    };
    let outcome = await this.#upToLimit(once);
    while (outcome === 'AGAIN') {
      // Outside the limit: a hub without room for large results may have room for others.
      await pause(runtime.timers, pauses.nextMs(), ended).catch(() => undefined);
      outcome = await this.#upToLimit(once);
    }
    span?.end(outcome === 'DONE' ? 'OK' : 'ERROR');
    return outcome === 'DONE';
  }

  async #upload(
    report: AttemptReport,
    folder: string,
    files: FileTransfer,
    ended: AbortSignal,
  ): Promise<void> {
    const { spool, runtime, log } = this.#options;
    await eachOf(filesOfReport(report), BLOBS_AT_A_TIME, async (file) => {
      const stored = await files.uploadedBytes(file.digest, ended);
      if (stored === 'WHOLE') return;
      // From its end on while the hub still stores it: then the answer is waited for, and no byte is sent again.
      const fromByte = stored.keptBytes <= file.sizeBytes ? stored.keptBytes : 0;
      const beganMs = runtime.clock.monotonicMs();
      try {
        await files.upload(file, spool.read(folder, file, fromByte), fromByte, ended);
      } catch (error) {
        // Distinguishes damage on this disk from damage in transit.
        if (error instanceof TransferFailed && error.failure === 'MISMATCH') await spool.verify(folder, file);
        throw error;
      }
      const { digest, sizeBytes } = file;
      const ms = Math.ceil(runtime.clock.monotonicMs() - beganMs);
      log.debug({ taskId: report.taskId, digest, sizeBytes, fromByte, ms }, 'uploaded a blob');
    });
  }

  /** The blobs are damaged on this host: the attempt counts as lost, so that the task runs again; a returned attempt is reported without its
   *  checkpoint. */
  #reportDamage({ report, folder, proof }: SpooledReport, error: unknown): void {
    const why = messageOf(error);
    this.#options.log.error(
      { err: error, taskId: report.taskId },
      'a spooled result cannot be read any more',
    );
    const message = `the result was lost on the agent's host before it was delivered: ${why}`;
    const others =
      report.checkpoint === undefined
        ? attemptReport(report, { outcome: 'INSTANCE_LOST', message })
        : withoutCheckpoint(report);
    this.add({ report: others, folder, proof });
  }
}

function areRead(blobs: readonly (Buffer | Promise<Buffer>)[]): blobs is readonly Buffer[] {
  return blobs.every((blob) => blob instanceof Buffer);
}
