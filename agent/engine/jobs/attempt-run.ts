/** A running attempt: the reason to end it early, if any, and the call to the program with its deadlines. */

import type { NamedFileRef } from '@workbench-hub/shared/domain/job';
import { canTransition, nextState } from '@workbench-hub/shared/domain/state-machine';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import type { Assignment } from '@workbench-hub/shared/joining/ports/hub';
import type { Ending } from '@workbench-hub/shared/joining/reports';
import { messageOf } from '@workbench-hub/shared/runtime/message-of';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { ATTEMPT_TRANSITIONS, type AttemptPhase } from '../../core/attempt-states.js';
import { HostFault } from '../../core/host-fault.js';
import { JobCanceled, JobFailed, type Program, ProgramLost } from '../../core/ports/programs.js';
import { secondsText } from '../../core/program-end.js';
import type { Reservation } from '../supervisor.js';
import type { TaskLog } from './task-log.js';

/** Reason to end an attempt early. AGENT_STOPS: the task is requeued. */
export type EndReason = 'CANCEL' | 'TIME_LIMIT' | 'AGENT_STOPS';

const STEP_OF = { CANCEL: 'cancel', TIME_LIMIT: 'timeLimit', AGENT_STOPS: 'evict' } as const;

export class AttemptRun {
  readonly ref: AttemptRef;
  readonly claim: Reservation;
  readonly timeLimitMs: number | null;
  /** Identity in log lines: task, attempt, instance, and the request that created the task. */
  readonly names: AttemptRef & { readonly requestId?: string };
  /** Parent of its spans. */
  readonly traceContext: string | undefined;
  /** Proof of its assignment. */
  readonly proof: string | undefined;
  /** Checkpoint of an earlier attempt. */
  readonly checkpoint: readonly NamedFileRef[];
  /** Whether the job has it in its folder. */
  isRestored = false;
  /** Log of its scripts; null until they print. */
  taskLog: TaskLog | null = null;
  /** Created on demand: most attempts end by themselves. */
  #abort: AbortController | null = null;
  /** Cancels the call to the program, while it runs. */
  #cancelCall: (() => void) | null = null;
  #endReason: EndReason | null = null;
  #isCalled = false;
  #phase: AttemptPhase = nextState(ATTEMPT_TRANSITIONS.begin);

  constructor(
    ref: AttemptRef,
    claim: Reservation,
    timeLimitMs: number | null,
    {
      requestId,
      traceContext,
      proof,
      checkpoint = [],
    }: Pick<Assignment, 'requestId' | 'traceContext' | 'proof' | 'checkpoint'> = {},
  ) {
    this.ref = ref;
    this.checkpoint = checkpoint;
    this.traceContext = traceContext;
    this.proof = proof;
    this.names = requestId === undefined ? ref : { requestId, ...ref };
    this.claim = claim;
    this.timeLimitMs = timeLimitMs;
  }

  get phase(): AttemptPhase {
    return this.#phase;
  }

  get endReason(): EndReason | null {
    return this.#endReason;
  }

  /** Whether its program was called. */
  get isCalled(): boolean {
    return this.#isCalled;
  }

  /** Aborted when the attempt must end. */
  get signal(): AbortSignal {
    if (this.#abort === null) {
      this.#abort = new AbortController();
      if (this.#endReason !== null) this.#abort.abort(endRequested());
    }
    return this.#abort.signal;
  }

  /** Ends the attempt early; false when its state does not allow that. The first reason counts. */
  end(reason: EndReason): boolean {
    if (!this.#take(STEP_OF[reason])) return false;
    this.#endReason = reason;
    this.#abort?.abort(endRequested());
    this.#cancelCall?.();
    return true;
  }

  #take(step: 'cancel' | 'timeLimit' | 'evict' | 'collect'): boolean {
    if (!canTransition<AttemptPhase>(ATTEMPT_TRANSITIONS[step], this.#phase)) return false;
    this.#phase = nextState(ATTEMPT_TRANSITIONS[step]);
    return true;
  }

  /** Calls the program, and cancels the job when the attempt must end. Settles like the call. */
  async call<T>(runtime: Runtime, start: (program: Program) => Promise<T>): Promise<T> {
    if (this.#endReason !== null) throw endRequested();
    this.#isCalled = true;
    this.#cancelCall = () => this.claim.cancel(this.ref.taskId);
    const timer =
      this.timeLimitMs === null ? null : runtime.timers.after(this.timeLimitMs, () => this.end('TIME_LIMIT'));
    try {
      const result = await start(this.claim.program);
      this.#take('collect');
      return result;
    } catch (error) {
      // Waits until no process of the program is left and its output is known.
      if (error instanceof ProgramLost) await aborted(this.claim.lost);
      throw error;
    } finally {
      this.#cancelCall = null;
      timer?.cancel();
    }
  }

  /** Result of the attempt when its work failed with an error. */
  endingOf(error: unknown): Ending {
    const ended = this.endingByReason();
    if (ended) return ended;
    // Another host may run it: the task is requeued.
    if (error instanceof HostFault) return { outcome: 'RETURNED', message: error.message, hostFault: true };
    if (error instanceof ProgramLost || this.claim.lost.aborted) {
      const reason: unknown = this.claim.lost.reason ?? error;
      const message = reason instanceof Error ? reason.message : String(reason);
      // The hub counts a crash against the task.
      const isOfOthers = reason instanceof ProgramLost && reason.isOfOthers;
      return { outcome: isOfOthers ? 'RETURNED' : 'INSTANCE_LOST', message };
    }
    if (error instanceof JobFailed) return { outcome: 'FAILED', message: error.message };
    if (error instanceof JobCanceled) {
      return { outcome: 'FAILED', message: 'the instance program canceled the job without being asked' };
    }
    const why = messageOf(error);
    return { outcome: 'FAILED', message: `the job could not be run: ${why}` };
  }

  /** Result of an attempt that was ended early; otherwise undefined. */
  endingByReason(): Ending | undefined {
    switch (this.#endReason) {
      case null:
        return undefined;
      case 'CANCEL':
        return { outcome: 'CANCELED', message: 'canceled' };
      case 'TIME_LIMIT':
        return { outcome: 'FAILED', message: `time limit of ${secondsText(this.timeLimitMs ?? 0)} exceeded` };
      case 'AGENT_STOPS':
        return { outcome: 'RETURNED', message: 'the agent is stopping' };
    }
  }
}

function endRequested(): JobCanceled {
  return new JobCanceled('the attempt must end');
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
