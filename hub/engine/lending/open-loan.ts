/** A loan that the upstream has given and whose end it has not acknowledged. */
import type { AttemptRef, TaskType } from '@workbench-hub/shared/domain/task';
import type { Assignment, HubConnection } from '@workbench-hub/shared/joining/ports/hub';
import type { Loan } from '../../core/task.js';

const OVER = new Error('the loan is over');

export class OpenLoan {
  readonly loan: Loan;
  /** Id of the task here. */
  readonly taskId: string;
  /** Whether its job prints, and so is followed. */
  readonly isFollowed: boolean;
  /** Connection on which its output was passed on last. */
  followedOn: HubConnection | undefined;
  /** Whether the task may be in the store. */
  hasTask: boolean;
  /** Whether its report is made. */
  isReported = false;
  /** Whether the upstream wants it to end. */
  isCanceled = false;
  /** Whether the agent still has to end its attempt, which was canceled. */
  isFreeing = false;
  /** Time at which its instance was seen free after a cancellation; milliseconds since 1970. */
  freedAtMs: number | undefined;
  /** Whether the task is to be removed with the acknowledgement, since it did nothing. */
  isVoid = false;

  #isOver = false;
  /** Made for those who wait: a signal for each loan would cost a tenth of it. */
  #over: AbortController | undefined;

  constructor(
    loan: Loan,
    taskId: string,
    { hasTask, type }: { readonly hasTask: boolean; readonly type: TaskType },
  ) {
    this.loan = loan;
    this.taskId = taskId;
    this.hasTask = hasTask;
    this.isFollowed = type === 'EXECUTE_BATCH_JOB';
  }

  /** Whether the loan is over here, or the hub does no more for it. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Aborted when it is over. */
  get over(): AbortSignal {
    this.#over ??= new AbortController();
    if (this.#isOver) this.#over.abort(OVER);
    return this.#over.signal;
  }

  end(): void {
    this.#isOver = true;
    this.#over?.abort(OVER);
  }

  get ref(): AttemptRef {
    return this.loan.ref;
  }
}

/** The loan that an assignment of an upstream is. */
export function loanOf({ ref, proof, origin }: Assignment, upstream: string): Loan {
  const { taskId, attempt, instanceId } = ref;
  return {
    upstream,
    ref: { taskId, attempt, instanceId },
    proof: proof ?? null,
    origin: { hub: origin?.hub ?? upstream, user: origin?.user ?? null },
  };
}
