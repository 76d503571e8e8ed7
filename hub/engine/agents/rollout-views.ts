/** The rollout to agents as administrators see it, and what they ask of it. It is the same at all hubs of a store (decision 0096). */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import {
  hoursLeftMin,
  minuteOfDay,
  ROLLOUT_PROGRESS,
  type Rollout,
  type RolloutMember,
  type RolloutProgress,
  type RolloutRules,
  type RolloutState,
  rolloutState,
  rolloutTarget,
} from '../../core/agent-rollout.js';
import { type AgentUpdateState, updateStateOf } from '../../core/agent-update-state.js';
import { HubError } from '../../core/errors.js';
import type { AgentRollouts } from '../../core/ports/agent-rollouts.js';
import type { Hubs } from '../../core/ports/hubs.js';
import type { AgentView } from '../../core/ports/nodes.js';
import type { UpdateOffer } from './agent-updates.js';
import { areOfOneVersion } from './hub-versions.js';

export interface RolloutView {
  readonly state: RolloutState;
  /** Version that is rolled out; null for a hub that updates no agents. */
  readonly version: string | null;
  /** Undefined before the first look at the agents. */
  readonly rollout: Rollout | undefined;
  /** Null for a hub that updates agents on request only. */
  readonly rules: RolloutRules | null;
  /** Agents as they were seen last, by id. */
  readonly members: readonly RolloutMember[];
}

export interface RolloutViewsOptions {
  /** Null for a hub that updates no agents. */
  readonly offer: Pick<UpdateOffer, 'files'> | null;
  /** Null for a hub that updates agents on request only. */
  readonly rules: RolloutRules | null;
  readonly rollouts: AgentRollouts;
  readonly hubs: Pick<Hubs, 'all'>;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly log: Pick<Logger, 'info'>;
}

export class RolloutViews {
  readonly #options: RolloutViewsOptions;

  constructor(options: RolloutViewsOptions) {
    this.#options = options;
  }

  /** Rejects as the store does. */
  async view(): Promise<RolloutView> {
    const { offer, rules, rollouts, hubs, clock } = this.#options;
    if (offer === null) return { state: 'OFF', version: null, rollout: undefined, rules: null, members: [] };
    const target = rolloutTarget(offer.files);
    const rollout = await rollouts.find(target);
    const members = await rollouts.members(target);
    const isInHours = rules === null || hoursLeftMin(rules.hours, minuteOfDay(clock.nowMs())) !== 0;
    const areHubsAlike = areOfOneVersion(await hubs.all());
    const state = rolloutState({ rollout, rules, members, isInHours, areHubsAlike });
    return { state, version: offer.files.version, rollout, rules, members };
  }

  /** Numbers of agents by their progress. Rejects as the store does. */
  async counts(): Promise<Record<RolloutProgress, number>> {
    const { offer, rollouts } = this.#options;
    const members = offer === null ? [] : await rollouts.members(rolloutTarget(offer.files));
    const counts = Object.fromEntries(ROLLOUT_PROGRESS.map((each) => [each, 0])) as Record<
      RolloutProgress,
      number
    >;
    for (const { progress } of members) counts[progress]++;
    return counts;
  }

  /** Update states of agents, looked up at once; undefined for those of which the hub cannot say any. Rejects as the store does. */
  async updateStates(): Promise<(agent: AgentView) => AgentUpdateState | undefined> {
    const { offer, rollouts } = this.#options;
    if (offer === null) return () => undefined;
    const members = await rollouts.members(rolloutTarget(offer.files));
    const byId = new Map(members.map((member) => [member.agentId, member]));
    return (agent) => updateStateOf(agent, byId.get(agent.id), offer.files.version);
  }

  /** Orders no more agents until {@link resume}. Rejects with HubError `AGENT_NOT_UPDATABLE` for a hub without a rollout, and as the store
   *  does. */
  async stop(by: string): Promise<void> {
    const { rollouts, clock, log } = this.#options;
    const { version, target } = this.#offered('stop');
    await rollouts.begin({ target, version, begunAtMs: clock.nowMs() });
    if (await rollouts.stop(target, clock.nowMs(), by))
      log.info({ version, by }, 'the rollout to agents is stopped by an administrator');
  }

  /** Goes on, past the agents that have failed until now. Rejects as {@link stop} does. */
  async resume(by: string): Promise<void> {
    const { rollouts, clock, log } = this.#options;
    const { version, target } = this.#offered('resume');
    if (await rollouts.resume(target, clock.nowMs()))
      log.info({ version, by }, 'the rollout to agents is resumed by an administrator');
  }

  #offered(action: string): { readonly version: string; readonly target: string } {
    const { offer, rules } = this.#options;
    if (offer !== null && rules !== null)
      return { version: offer.files.version, target: rolloutTarget(offer.files) };
    const why = offer === null ? 'this hub updates no agents' : 'this hub updates agents on request only';
    const remedy = `set agents.updates.${offer === null ? 'folder and groups' : 'groups'} of the hub`;
    throw new HubError('AGENT_NOT_UPDATABLE', `there is no rollout to ${action}: ${why}; ${remedy}`);
  }
}
