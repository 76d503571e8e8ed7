/** The rollout of this hub's version to agents: the hub with the role of the scheduler looks at what all of them tell, keeps it, and orders
 *  the next ones (decisions 0092, 0096). A new term goes on from what is kept. */
import type { AgentUpdate } from '@workbench-hub/shared/domain/agent-update';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { Loop } from '@workbench-hub/shared/runtime/loop';
import { messageOf } from '@workbench-hub/shared/runtime/message-of';
import { pause } from '@workbench-hub/shared/runtime/pause';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import {
  groupOf,
  hoursLeftMin,
  isOtherMember,
  type MemberInRollout,
  memberAfter,
  minuteOfDay,
  type PresentMember,
  type RolloutMember,
  type RolloutProgress,
  type RolloutRules,
  rolloutStep,
  rolloutTarget,
} from '../../core/agent-rollout.js';
import { isOwnAgentId } from '../../core/own-agent.js';
import type { AgentRollouts } from '../../core/ports/agent-rollouts.js';
import type { Hubs } from '../../core/ports/hubs.js';
import type { TaskMetrics } from '../../core/ports/metrics.js';
import type { AgentView } from '../../core/ports/nodes.js';
import type { AgentUpdates, UpdateOffer } from './agent-updates.js';
import { areOfOneVersion } from './hub-versions.js';

export interface AgentRolloutOptions {
  /** Null for a hub that updates no agents. */
  readonly offer: Pick<UpdateOffer, 'files'> | null;
  /** Null for a hub that updates agents on request only. */
  readonly rules: RolloutRules | null;
  readonly rollouts: AgentRollouts;
  readonly hubs: Pick<Hubs, 'all'>;
  readonly agents: () => readonly AgentView[];
  readonly updates: Pick<AgentUpdates, 'state' | 'order'>;
  readonly metrics: Pick<TaskMetrics, 'agentWentBack'>;
  readonly runtime: Pick<Runtime, 'clock' | 'timers'>;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
}

/** Agents as a look has found them. */
interface Seen {
  readonly members: Map<string, RolloutMember>;
  readonly away: ReadonlySet<string>;
}

const HAS_FAILED: ReadonlySet<RolloutProgress> = new Set(['FAILED', 'PASSED_OVER']);
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
  /** Times of the latest orders, by agent, as far as this term knows. */
  readonly #orderedAtMs = new Map<string, number>();
  #term = 0;
  /** Reason of the latest stop, so that it is logged once in a term. */
  #stoppedBy = '';

  constructor(options: AgentRolloutOptions) {
    this.#options = options;
    this.#loop = new Loop({
      timers: options.runtime.timers,
      pass: () => this.#pass(),
      failed: (error) => {
        if (!this.#loop.isStopped)
          options.log.error({ err: error }, 'the rollout to agents failed; the hub tries again');
        return LOOK_MS;
      },
      isStopped: true,
    });
  }

  /** Begins with a term. */
  start(term: number): void {
    this.#term = term;
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
    this.#stoppedBy = '';
  }

  async #pass(): Promise<number> {
    const { offer, rules, rollouts, runtime } = this.#options;
    if (offer === null || rules === null) return LOOK_MS;
    const target = rolloutTarget(offer.files);
    const { version } = offer.files;
    if (!(await rollouts.find(target)))
      await rollouts.begin({ target, version, begunAtMs: runtime.clock.nowMs() });
    const kept = new Map((await rollouts.members(target)).map((member) => [member.agentId, member]));
    const seen = await this.#look(offer, rules, kept);
    if (!this.#loop.isStopped && (await this.#keep(target, kept, seen)))
      await this.#proceed({ target, version }, rules, seen);
    return LOOK_MS;
  }

  /** Orders the next agents, unless the rollout is stopped or it is not the time for it. */
  async #proceed(
    { target, version }: { readonly target: string; readonly version: string },
    rules: RolloutRules,
    seen: Seen,
  ): Promise<void> {
    const { rollouts, hubs, runtime } = this.#options;
    const all: MemberInRollout[] = [...seen.members.values()].map((member) => ({
      ...member,
      isAway: seen.away.has(member.agentId),
    }));
    const { order, stoppedBy } = rolloutStep(all, rules);
    this.#tellStop(version, stoppedBy);
    const leftMin = hoursLeftMin(rules.hours, minuteOfDay(runtime.clock.nowMs()));
    if (order.length === 0 || leftMin === 0) return;
    if (!areOfOneVersion(await hubs.all()) || (await this.#isStopped(target))) return;
    const ordered = order.flatMap((agentId) => seen.members.get(agentId) ?? []);
    const changedAtMs = runtime.clock.nowMs();
    const changed = ordered.map((member) => ({ ...member, progress: 'UNDER_WAY' as const, changedAtMs }));
    // An order counts from before it is sent, so that no restart of the hub takes other canaries.
    if (!(await rollouts.record({ target, changed, gone: [] }, this.#term))) return;
    for (const { agentId } of ordered) {
      if (this.#loop.isStopped || (await this.#isStopped(target))) return;
      await this.#order(agentId, leftMin);
    }
  }

  async #isStopped(target: string): Promise<boolean> {
    return (await this.#options.rollouts.find(target))?.stoppedAtMs !== null;
  }

  #tellStop(version: string, stoppedBy: readonly string[]): void {
    const reason = stoppedBy.join(', ');
    if (reason !== '' && reason !== this.#stoppedBy)
      this.#options.log.error(
        { agents: stoppedBy },
        `the rollout of version ${version} to agents is stopped: it has failed there`,
      );
    this.#stoppedBy = reason;
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

  /** Asks the agents of all groups. A failure is seen also of agents that are gone since: one that returns tells it again. */
  async #look(
    { files }: Pick<UpdateOffer, 'files'>,
    rules: RolloutRules,
    kept: ReadonlyMap<string, RolloutMember>,
  ): Promise<Seen> {
    const members = new Map([...kept].filter(([, { progress }]) => HAS_FAILED.has(progress)));
    const away = new Set(members.keys());
    const agents = this.#options.agents().flatMap((agent) => {
      // The labels of one that is away may not be known any more.
      const known = agent.status === 'UP' ? undefined : kept.get(agent.id)?.group;
      const group = known ?? groupIn(rules, agent);
      return group === undefined ? [] : [{ agent, group }];
    });
    for (let at = 0; at < agents.length && !this.#loop.isStopped; at += ASKED_AT_A_TIME) {
      const some = agents.slice(at, at + ASKED_AT_A_TIME);
      const answers = await Promise.all(some.map(({ agent }) => this.#told(agent)));
      for (const [index, { agent, group }] of some.entries()) {
        const told = answers[index];
        if (told === undefined) away.add(agent.id);
        else away.delete(agent.id);
        const present = { agentId: agent.id, group, told };
        members.set(agent.id, this.#memberOf(present, kept.get(agent.id), files));
      }
    }
    return { members, away };
  }

  async #told({ id, status }: AgentView): Promise<AgentUpdate | undefined> {
    return status === 'UP' ? this.#options.updates.state(id).catch(() => undefined) : undefined;
  }

  #memberOf(
    present: PresentMember,
    kept: RolloutMember | undefined,
    files: UpdateOffer['files'],
  ): RolloutMember {
    const { agentId } = present;
    const nowMs = this.#options.runtime.clock.nowMs();
    const isOrdered = this.#isOrderedLately(agentId, kept);
    const member = memberAfter(kept, present, { files, isOrdered, nowMs });
    if (member.progress !== 'UNDER_WAY' && member.progress !== 'WAITING') this.#orderedAtMs.delete(agentId);
    return member;
  }

  /** An order of an earlier term counts from the first look of this one. */
  #isOrderedLately(agentId: string, kept: RolloutMember | undefined): boolean {
    const nowMs = this.#options.runtime.clock.monotonicMs();
    const isUnderWay = kept?.progress === 'UNDER_WAY' || kept?.progress === 'WAITING';
    if (isUnderWay && !this.#orderedAtMs.has(agentId)) this.#orderedAtMs.set(agentId, nowMs);
    const atMs = this.#orderedAtMs.get(agentId);
    return atMs !== undefined && nowMs - atMs < REPEATED_AFTER_MS;
  }

  /** Keeps what a look has found; false when the term is over. */
  async #keep(target: string, kept: ReadonlyMap<string, RolloutMember>, { members }: Seen): Promise<boolean> {
    const { rollouts, metrics } = this.#options;
    const changed = [...members.values()].filter((member) => isOtherMember(kept.get(member.agentId), member));
    const gone = [...kept.keys()].filter((agentId) => !members.has(agentId));
    if (changed.length === 0 && gone.length === 0) return true;
    const isKept = await rollouts.record({ target, changed, gone }, this.#term);
    if (!isKept) return false;
    for (const { agentId, progress } of changed)
      if (progress === 'FAILED' && kept.get(agentId)?.progress !== 'FAILED') metrics.agentWentBack();
    return true;
  }
}

/** Place of the group of an agent; undefined for none, and for what is no agent of its own. */
function groupIn({ groups }: RolloutRules, { id, hub, instances }: AgentView): number | undefined {
  if (hub !== undefined || isOwnAgentId(id)) return undefined;
  const labels = instances.flatMap(({ profile }) => [...profile.labels]);
  return groupOf(labels, groups);
}
