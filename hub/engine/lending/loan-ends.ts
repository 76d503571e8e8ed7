/** Ends of loans: from the end, the loss or the cancellation of the task to the report. */
import type { AttemptReport } from '@workbench-hub/shared/domain/attempt';
import { hasEnded, sameAttempt } from '@workbench-hub/shared/domain/task';
import type { Reporting } from '@workbench-hub/shared/joining/reporting';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock, Timer, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { TaskArchive } from '../../core/ports/task-archive.js';
import type { Completion, Loan, Task } from '../../core/task.js';
import type { Instances } from '../instances/instances.js';
import type { TaskTransitions } from '../transitions/task-transitions.js';
import { loanReport, reportOfEnd } from './loan-report.js';
import type { OpenLoan } from './open-loan.js';

export interface LoanEndsOptions {
  readonly archive: Pick<TaskArchive, 'find' | 'filesOf' | 'formerAttempts'>;
  readonly transitions: Pick<TaskTransitions, 'cancel'>;
  readonly instances: Pick<Instances, 'attemptOn'>;
  readonly reporting: Pick<Reporting, 'add'>;
  /** Called when a loan has been reported. */
  readonly reported: (loan: OpenLoan) => void;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Logger;
}

/** Time in which the agent of a canceled task ends it and reports. */
const CANCELED_WITHIN_MS = 30_000;
/** Time in which the files of a canceled task are written once its instance is free. */
const FILES_WITHIN_MS = 500;
/** Delay of the next look after a failure of the store, and at a canceled task. */
const AGAIN_AFTER_MS = 500;

export class LoanEnds {
  readonly #options: LoanEndsOptions;
  /** Loans whose task is being looked at; true when it has changed since. */
  readonly #looking = new Map<OpenLoan, boolean>();
  readonly #timers = new Set<Timer>();
  /** Ends the waits for the store. */
  readonly #waits = new Set<() => void>();
  #isStopped = false;

  constructor(options: LoanEndsOptions) {
    this.#options = options;
  }

  stop(): void {
    this.#isStopped = true;
    for (const timer of this.#timers) timer.cancel();
    for (const end of this.#waits) end();
  }

  /** Goes on with a loan of an earlier term, as its task is now. */
  resume(loan: OpenLoan, { status, attempt }: Task): void {
    // It was created, and its instance never claimed.
    if (status === 'WAITING' && attempt === 0) loan.isVoid = true;
    this.changed(loan);
  }

  /** The task of the loan may have changed. */
  changed(loan: OpenLoan): void {
    if (loan.isReported || !loan.hasTask || this.#isStopped) return;
    if (this.#looking.has(loan)) {
      this.#looking.set(loan, true);
      return;
    }
    this.#looking.set(loan, false);
    void this.#lookAgain(loan);
  }

  /** The task of the loan has ended at this hub. */
  ended(loan: OpenLoan, ending: Completion): void {
    const report = reportOfEnd(loan.loan, ending);
    this.#report(loan, loan.isCanceled ? { ...report, outcome: 'CANCELED' } : report);
  }

  /** An instance has become free of the loan. */
  freed(loan: OpenLoan): void {
    if (loan.isFreeing) this.changed(loan);
  }

  /** The upstream wants the loan to end. */
  cancel(loan: OpenLoan): void {
    if (loan.isReported) return;
    loan.isCanceled = true;
    // Its inputs need not be fetched any more.
    if (loan.hasTask) this.changed(loan);
    else void this.giveBack(loan, 'it was canceled before it began');
  }

  /** Returns a loan that has not begun. Never rejects. */
  async giveBack(loan: OpenLoan, message: string, { hostFault = false } = {}): Promise<void> {
    const { archive, transitions } = this.#options;
    if (loan.isReported) return;
    loan.isVoid = true;
    // Reported at once without a task, so that none is created meanwhile.
    if (loan.hasTask) {
      await this.#patiently(loan, async () => {
        const task = await archive.find(loan.taskId);
        if (task && !hasEnded(task.status)) await transitions.cancel(task, true);
        if (task === undefined) loan.hasTask = false;
      });
    }
    if (this.#isStopped) return;
    this.#report(loan, {
      ...loan.ref,
      outcome: loan.isCanceled ? 'CANCELED' : 'RETURNED',
      message,
      ...(hostFault ? { hostFault: true } : {}),
      outputFiles: [],
      log: null,
    });
  }

  async #lookAgain(loan: OpenLoan): Promise<void> {
    await this.#patiently(loan, () => this.#look(loan));
    const hasChanged = this.#looking.get(loan) === true;
    this.#looking.delete(loan);
    if (hasChanged) this.changed(loan);
  }

  /** Reports the loan if its task is over. Rejects as the store does. */
  async #look(loan: OpenLoan): Promise<void> {
    const { archive, transitions } = this.#options;
    const task = await archive.find(loan.taskId);
    if (loan.isReported) return;
    if (task === undefined) return;
    const isLost = task.status === 'WAITING' && (task.attempt > 0 || loan.isVoid);
    if (isLost || (loan.isCanceled && !hasEnded(task.status))) {
      await transitions.cancel(task, true);
      return this.#look(loan);
    }
    if (!hasEnded(task.status)) return;
    const waitMs = await this.#waitForAgentMs(loan, task);
    if (waitMs > 0) {
      this.#after(waitMs, () => this.changed(loan));
      return;
    }
    const report = await loanReport(task as Task & { readonly loan: Loan }, archive);
    this.#report(loan, loan.isCanceled ? { ...report, outcome: 'CANCELED' } : report);
  }

  /** Time for which the agent of a task that was canceled while it ran may still hold the instance, or report files that it made. */
  async #waitForAgentMs(loan: OpenLoan, task: Task): Promise<number> {
    const { instances, archive, clock } = this.#options;
    const { id: taskId, attempt, status, startedAtMs, endedAtMs, instance } = task;
    if (status !== 'CANCELED' || startedAtMs === null || endedAtMs === null || !instance) return 0;
    const nowMs = clock.nowMs();
    if (nowMs - endedAtMs > CANCELED_WITHIN_MS) return 0;
    const current = instances.attemptOn(instance.id);
    if (current && sameAttempt(current, { taskId, attempt, instanceId: instance.id })) {
      loan.isFreeing = true;
      return AGAIN_AFTER_MS;
    }
    if (!loan.isCanceled || task.type === 'SIMULATE_WORK') return 0;
    loan.freedAtMs ??= nowMs;
    const { outputFiles, log } = await archive.filesOf(taskId);
    if (outputFiles.length > 0 || log !== null) return 0;
    return Math.max(0, loan.freedAtMs + FILES_WITHIN_MS - nowMs);
  }

  #report(loan: OpenLoan, report: AttemptReport): void {
    if (loan.isReported) return;
    loan.isReported = true;
    loan.end();
    this.#options.reporting.add({ report, folder: loan.taskId, proof: loan.loan.proof ?? undefined });
    this.#options.reported(loan);
  }

  /** Repeats a step until the store has carried it out, or the loans of this term are over. */
  async #patiently(loan: OpenLoan, step: () => Promise<void>): Promise<void> {
    while (!this.#isStopped) {
      try {
        await step();
        return;
      } catch (error) {
        this.#options.log.warn(
          { err: error, taskId: loan.taskId },
          'the state of a loan could not be read; trying again',
        );
        await this.#pause();
      }
    }
  }

  /** Resolves after a while, or at once when there is no further try. */
  async #pause(): Promise<void> {
    if (this.#isStopped) return;
    let end: () => void = () => undefined;
    const over = new Promise<void>((resolve) => {
      end = resolve;
    });
    this.#waits.add(end);
    this.#after(AGAIN_AFTER_MS, end);
    await over;
    this.#waits.delete(end);
  }

  #after(delayMs: number, then: () => void): void {
    const timer = this.#options.timers.after(delayMs, () => {
      this.#timers.delete(timer);
      then();
    });
    this.#timers.add(timer);
  }
}
