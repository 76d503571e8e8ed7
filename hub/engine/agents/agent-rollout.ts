/** The rollout of this hub's version to agents: the hub with the role of the scheduler looks at what all of them tell, and orders the next
 *  ones (decision 0092). It knows nothing for long: a new term asks again. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { Loop } from '@workbench-hub/shared/runtime/loop';
import { messageOf } from '@workbench-hub/shared/runtime/message-of';
import { pause } from '@workbench-hub/shared/runtime/pause';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import {
  hoursLeftMin,
  progressOf,
  type RolloutMember,
  type RolloutProgress,
  type RolloutRules,
  rolloutStep,
} from '../../core/agent-rollout.js';
import type { AgentView } from '../../core/ports/nodes.js';
import type { AgentUpdates, UpdateOffer } from './agent-updates.js';

export interface AgentRolloutOptions {
  /** Null for a hub that updates no agents. */
  readonly offer: Pick<UpdateOffer, 'files'> | null;
  /** Null for a hub that updates agents on request only. */
  readonly rules: RolloutRules | null;
  readonly agents: () => readonly AgentView[];
  readonly updates: Pick<AgentUpdates, 'state' | 'order'>;
  readonly runtime: Pick<Runtime, 'clock' | 'timers'>;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
}

const LOOK_MS = 20_000;
/** Time for which a stop waits for agents that are being asked. */
const STOP_LIMIT_MS = 1000;
const MINUTE_MS = 60_000;
/** Agents that are asked at the same time. */
const ASKED_AT_A_TIME = 20;
/** Time after which an order is repeated that was refused or not carried out, such as for want of room. */
const REPEATED_AFTER_MS = 10 * MINUTE_MS;

export class AgentRollout {
  readonly #options: AgentRolloutOptions;
  readonly #loop: Loop;
  /** Times of the latest orders of this term, by agent: one that does not come back is under way until it does. */
  readonly #orderedAtMs = new Map<string, number>();
  /** Agents that have failed in this term, also when they are not connected. */
  readonly #failed = new Set<string>();
  /** Reason of the latest stop, so that it is logged once. */
  #stoppedBy = '';

  constructor(options: AgentRolloutOptions) {
    this.#options = options;
    this.#loop = new Loop({
      timers: options.runtime.timers,
      pass: () => this.#pass(),
      failed: (error) => {
        options.log.error({ err: error }, 'the rollout to agents failed; the hub tries again');
        return LOOK_MS;
      },
      isStopped: true,
    });
  }

  /** Begins with a term. */
  start(): void {
    const { offer, rules } = this.#options;
    if (offer !== null && rules !== null) this.#loop.start(LOOK_MS);
  }

  async stop(): Promise<void> {
    // An agent that does not answer must not keep the next hub from scheduling.
    const over = new AbortController();
    const limit = pause(this.#options.runtime.timers, STOP_LIMIT_MS, over.signal).catch(() => undefined);
    await Promise.race([this.#loop.stop(), limit]);
    over.abort(new Error('the rollout is stopped'));
    this.#orderedAtMs.clear();
    this.#failed.clear();
    this.#stoppedBy = '';
  }

  async #pass(): Promise<number> {
    const { offer, rules, runtime, log } = this.#options;
    if (offer === null || rules === null) return LOOK_MS;
    const leftMin = hoursLeftMin(rules.hours, minuteOfDay(runtime.clock.nowMs()));
    if (leftMin === 0) return LOOK_MS;
    const members = await this.#members(offer.files);
    const { order, stoppedBy } = rolloutStep(members, rules);
    const reason = stoppedBy.join(', ');
    if (reason !== '' && reason !== this.#stoppedBy)
      log.error(
        { agents: stoppedBy },
        `the rollout of version ${offer.files.version} to agents is stopped: it has failed there`,
      );
    this.#stoppedBy = reason;
    for (const agentId of order) if (!this.#loop.isStopped) await this.#order(agentId, leftMin);
    return LOOK_MS;
  }

  async #order(agentId: string, leftMin: number | null): Promise<void> {
    const { updates, runtime, log } = this.#options;
    this.#orderedAtMs.set(agentId, runtime.clock.monotonicMs());
    try {
      await updates.order(agentId, leftMin === null ? {} : { withinMs: leftMin * MINUTE_MS });
    } catch (error) {
      log.warn({ agentId, reason: messageOf(error) }, 'an agent could not be ordered to update');
    }
  }

  /** States of the agents that take part, as they tell them. */
  async #members(files: UpdateOffer['files']): Promise<RolloutMember[]> {
    const members: RolloutMember[] = [];
    const agents = this.#options.agents().filter(({ hub }) => hub === undefined);
    for (let at = 0; at < agents.length && !this.#loop.isStopped; at += ASKED_AT_A_TIME) {
      const some = agents.slice(at, at + ASKED_AT_A_TIME);
      const progress = await Promise.all(some.map((agent) => this.#progressOf(agent, files)));
      for (const [index, { id: agentId, instances }] of some.entries()) {
        const each = progress[index];
        const labels = instances.flatMap(({ profile }) => [...profile.labels]);
        if (each !== undefined) members.push({ agentId, labels, progress: each });
      }
    }
    return members;
  }

  async #progressOf(
    { id, status }: AgentView,
    files: UpdateOffer['files'],
  ): Promise<RolloutProgress | undefined> {
    const told = status === 'UP' ? await this.#options.updates.state(id).catch(() => undefined) : undefined;
    const progress = told ? progressOf(told, files) : this.#progressWhileAway(id);
    if (progress === 'DONE' || progress === undefined) this.#orderedAtMs.delete(id);
    if (progress === 'FAILED') this.#failed.add(id);
    else if (told) this.#failed.delete(id);
    return told && progress === 'OPEN' && this.#isOrderedLately(id) ? 'WAITING' : progress;
  }

  #progressWhileAway(id: string): RolloutProgress | undefined {
    if (this.#failed.has(id)) return 'FAILED';
    return this.#orderedAtMs.has(id) ? 'UNDER_WAY' : undefined;
  }

  #isOrderedLately(id: string): boolean {
    const atMs = this.#orderedAtMs.get(id);
    return atMs !== undefined && this.#options.runtime.clock.monotonicMs() - atMs < REPEATED_AFTER_MS;
  }
}

/** In the local time of the hub. */
function minuteOfDay(nowMs: number): number {
  const date = new Date(nowMs);
  return date.getHours() * 60 + date.getMinutes();
}
