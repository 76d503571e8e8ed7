/** Lending: what the hub with the role of the scheduler does for the upstreams in each of its terms. */
import { hasEnded } from '@workbench-hub/shared/domain/task';
import type { Hub } from '@workbench-hub/shared/joining/ports/hub';
import type { SignalListener } from '../../core/ports/signals.js';
import type { UpstreamView } from '../../core/ports/upstreams.js';
import type { Loan, Task } from '../../core/task.js';
import type { TaskSubscriber } from '../../core/task-events.js';
import type { HostEnds } from '../scheduling/host-ends.js';
import type { Scheduler } from '../scheduling/scheduler.js';
import type { UpstreamSettings } from './lending-settings.js';
import { LoanRecall, type LoanRecallOptions } from './loan-recall.js';
import { Upstream, type UpstreamPorts } from './upstream.js';

/** An upstream with the means to join it. */
export interface ConfiguredUpstream extends UpstreamSettings {
  readonly hub: Hub;
}

export interface LendingOptions
  extends UpstreamPorts,
    Pick<LoanRecallOptions, 'queue' | 'exclusions' | 'scheduler'> {
  readonly scheduler: Pick<Scheduler, 'place' | 'groupsFor'>;
  readonly hostEnds: Pick<HostEnds, 'leftMsOf' | 'isAllowed'>;
  /** Undefined for a hub that never has a loan. */
  readonly upstreams: readonly ConfiguredUpstream[] | undefined;
}

export class Lending {
  readonly #options: LendingOptions;
  readonly #recall: LoanRecall;
  #upstreams: Upstream[] = [];

  constructor(options: LendingOptions) {
    this.#options = options;
    const { queue, scheduler, exclusions, hostEnds, archive, transitions, instances, isPaused, log } =
      options;
    const { clock, timers } = options.runtime;
    this.#recall = new LoanRecall({
      ...{ queue, scheduler, exclusions, hostEnds, archive, transitions, instances, isPaused },
      ...{ clock, timers, log },
      loans: () => this.#upstreams.flatMap((upstream) => upstream.occupying()),
    });
  }

  /** Goes on with the open loans and joins the upstreams. Rejects as the store does. */
  async start(): Promise<void> {
    const { upstreams, loans, log } = this.#options;
    if (upstreams === undefined) return;
    const tasks = (await loans.all()).filter(hasLoan);
    const abandoned = tasks.filter(({ loan }) => upstreams.every(({ name }) => name !== loan.upstream));
    this.#abandon(abandoned).catch((error: unknown) => {
      log.error({ err: error }, 'loans of an upstream that is no longer configured could not be ended');
    });
    this.#upstreams = upstreams.map((settings) => new Upstream(settings, settings.hub, this.#options));
    for (const [index, upstream] of this.#upstreams.entries()) {
      const name = upstreams[index]?.name;
      await upstream.start(tasks.filter(({ loan }) => loan.upstream === name));
    }
    if (upstreams.some(({ lend }) => lend.takeBackMs !== null)) this.#recall.start();
  }

  /** Leaves the upstreams. */
  async stop(): Promise<void> {
    await this.#recall.stop();
    await Promise.all(this.#upstreams.splice(0).map((upstream) => upstream.stop()));
  }

  readonly onTask: TaskSubscriber = {
    ENDED: ({ task, ending }) => this.#each((upstream) => upstream.ended(task.id, ending)),
    ENQUEUED: ({ waiting }) => {
      for (const upstream of this.#upstreams) for (const { taskId } of waiting) upstream.enqueued(taskId);
    },
  };

  readonly onSignal: SignalListener = {
    ENDED: ({ taskId }) => this.#each((upstream) => upstream.taskChanged(taskId)),
    RETURNED: ({ taskId }) => this.#each((upstream) => upstream.taskChanged(taskId)),
    FREED: ({ ref }) => this.#each((upstream) => upstream.freed(ref.taskId)),
    JOINED: () => this.#each((upstream) => upstream.agentsChanged()),
    LEFT: () => this.#each((upstream) => upstream.agentsChanged()),
    RESYNC: () => this.#each((upstream) => upstream.tasksChanged()),
  };

  /** The upstreams of this term; none without one. */
  views(): readonly UpstreamView[] {
    return this.#upstreams.map((upstream) => upstream.view());
  }

  /** Whether tasks may begin has changed. */
  pauseChanged(): void {
    this.#each((upstream) => upstream.pauseChanged());
  }

  /** An instance may have changed. */
  instanceChanged(instanceId: string): void {
    this.#each((upstream) => upstream.instanceChanged(instanceId));
  }

  /** The end of an agent's host has changed. */
  hostEndChanged(agentId: string): void {
    this.#each((upstream) => upstream.hostEndChanged(agentId));
  }

  #each(step: (upstream: Upstream) => void): void {
    for (const upstream of this.#upstreams) step(upstream);
  }

  /** Ends the loans of upstreams that are no longer configured: nobody waits for them. What fails is done at the next start. */
  async #abandon(tasks: readonly (Task & { readonly loan: Loan })[]): Promise<void> {
    const { transitions, loans, log } = this.#options;
    for (const task of tasks) {
      const { id: taskId, loan } = task;
      log.warn(
        { taskId, upstream: loan.upstream },
        'a loan of an upstream that is no longer configured is ended',
      );
      if (!hasEnded(task.status)) await transitions.cancel(task, true);
      await loans.close([taskId]);
    }
  }
}

function hasLoan(task: Task): task is Task & { readonly loan: Loan } {
  return task.loan !== null;
}
