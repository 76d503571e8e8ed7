/** Beginnings of loans: from the assignment of the upstream to the claim of the instance. */
import { filesOfJob } from '@workbench-hub/shared/domain/job';
import { nextState } from '@workbench-hub/shared/domain/state-machine';
import type { Assignment } from '@workbench-hub/shared/joining/ports/hub';
import type { Reporting } from '@workbench-hub/shared/joining/reporting';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { messageOf } from '@workbench-hub/shared/runtime/message-of';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { HubError } from '../../core/errors.js';
import type { BlobStore } from '../../core/ports/blobs.js';
import { type NewTask, TASK_TRANSITIONS } from '../../core/task.js';
import type { Instances } from '../instances/instances.js';
import type { Scheduler } from '../scheduling/scheduler.js';
import type { TaskTransitions } from '../transitions/task-transitions.js';
import type { LoanEnds } from './loan-ends.js';
import { InputsMissing, type LoanInputs } from './loan-inputs.js';
import { loanOf, OpenLoan } from './open-loan.js';

export interface LoanStartsOptions {
  readonly files: Pick<BlobStore, 'hold'>;
  readonly inputs: LoanInputs;
  readonly transitions: Pick<TaskTransitions, 'create'>;
  readonly scheduler: Pick<Scheduler, 'place'>;
  readonly instances: Pick<Instances, 'idleInstance' | 'awaitLoan'>;
  readonly reporting: Pick<Reporting, 'add'>;
  readonly ends: Pick<LoanEnds, 'changed' | 'giveBack'>;
  /** Called when this hub cannot begin loans now. */
  readonly onUnable: () => void;
  readonly runtime: Runtime;
  readonly log: Logger;
}

const IN_USE = 'the hub that lends the instance uses it itself';

/** Instance here that a loan is to begin on; and whether it was claimed, once asked. */
interface Placing {
  readonly instanceId: string;
  /** Ends the note that the loan is to begin there. */
  readonly begun: () => void;
  placed?: Promise<boolean>;
}

export class LoanStarts {
  readonly #options: LoanStartsOptions;
  /** By task. */
  readonly #placing = new Map<string, Placing>();

  constructor(options: LoanStartsOptions) {
    this.#options = options;
  }

  /** The loan that an assignment is; undefined when it is given back at once. `instanceId` is the id here; undefined for an instance that is
   *  not lent. */
  accept(assignment: Assignment, upstream: string, instanceId: string | undefined): OpenLoan | undefined {
    const { instances, runtime, reporting } = this.#options;
    const loan = new OpenLoan(loanOf(assignment, upstream), runtime.newId(), {
      hasTask: false,
      type: assignment.job.type,
    });
    if (instanceId !== undefined && instances.idleInstance(instanceId)) {
      this.#placing.set(loan.taskId, { instanceId, begun: instances.awaitLoan(instanceId) });
      return loan;
    }
    const report = { ...loan.ref, outcome: 'RETURNED' as const, message: IN_USE, outputFiles: [], log: null };
    reporting.add({ report, folder: null, proof: loan.loan.proof ?? undefined });
    return undefined;
  }

  /** Fetches the inputs, creates the task and has its instance claimed; gives the loan back when that fails. Never rejects. */
  async run(loan: OpenLoan, assignment: Assignment): Promise<void> {
    const { files, inputs, transitions, ends, log } = this.#options;
    const hold = files.hold();
    try {
      const { job } = assignment;
      const local = filesOfJob(job).length === 0 ? job : await inputs.fetch(job, hold, loan.over);
      if (loan.isOver) return;
      loan.hasTask = true;
      await transitions.create(this.#taskOf(loan, { ...assignment, job: local }));
      if (!(await this.#placing.get(loan.taskId)?.placed)) await ends.giveBack(loan, IN_USE);
      // It may have been canceled while the task was created.
      else if (loan.isCanceled) ends.changed(loan);
    } catch (error) {
      if (loan.isOver) return;
      const isExpected = error instanceof HubError || error instanceof InputsMissing;
      if (!isExpected) log.error({ err: error, ...loan.ref }, 'a loan could not begin');
      if (!(error instanceof InputsMissing)) this.#options.onUnable();
      await ends.giveBack(loan, messageOf(error), { hostFault: true });
    } finally {
      this.#placing.get(loan.taskId)?.begun();
      this.#placing.delete(loan.taskId);
      hold.release();
    }
  }

  /** The task of a loan can be claimed. */
  enqueued({ taskId }: OpenLoan): void {
    const placing = this.#placing.get(taskId);
    if (placing) placing.placed = this.#options.scheduler.place(taskId, placing.instanceId);
  }

  #taskOf(
    { loan, taskId: id }: OpenLoan,
    { job, timeLimitMs, requestId, traceContext }: Assignment,
  ): NewTask {
    const { clock } = this.#options.runtime;
    const instanceId = this.#placing.get(id)?.instanceId;
    return {
      id,
      type: job.type,
      name: null,
      note: null,
      creator: null,
      classifiers: [],
      requirement: { version: null, labels: [], instanceId },
      priority: 'NORMAL',
      status: nextState(TASK_TRANSITIONS.create),
      requestedAtMs: clock.nowMs(),
      startedAtMs: null,
      endedAtMs: null,
      timeLimitS: timeLimitMs === null ? null : Math.ceil(timeLimitMs / 1000),
      attempt: 0,
      crashes: 0,
      losses: 0,
      instance: null,
      batchExecutionStatus: null,
      message: null,
      requestId: requestId ?? null,
      traceContext: traceContext ?? null,
      ignoredFields: null,
      loan,
      study: null,
      job,
    };
  }
}
