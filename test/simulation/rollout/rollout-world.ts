/**
 * A world of agents that their hub updates: one hub, or two of which one drives, and hosts with launchers. Hubs and agents are killed, hosts lose
 * power, connections are lost, disks are full and downloads corrupt; the version is good, or bad in one of several ways, and a hub may go back
 * to the version before. Afterwards no task was lost to an update, no agent is on a bad version, no lost connection has taken a version back, and
 * nothing was ordered after a failure.
 */
import { createHash } from 'node:crypto';
import { type RolloutRules, rolloutTarget } from '@workbench-hub/hub/core/agent-rollout';
import type { AgentFiles } from '@workbench-hub/hub/core/ports/agent-files';
import type { AgentRollouts } from '@workbench-hub/hub/core/ports/agent-rollouts';
import type { AgentReply, AgentRequest } from '@workbench-hub/hub/core/ports/agents';
import type { HubView } from '@workbench-hub/hub/core/ports/hubs';
import type { AgentView } from '@workbench-hub/hub/core/ports/nodes';
import { AgentUnavailable } from '@workbench-hub/hub/core/ports/relay';
import { AgentRollout } from '@workbench-hub/hub/engine/agents/agent-rollout';
import { AgentUpdates } from '@workbench-hub/hub/engine/agents/agent-updates';
import { rolloutsInMemory } from '@workbench-hub/hub/engine/agents/fixtures/rollouts-in-memory';
import { versionName } from '@workbench-hub/shared/domain/agent-update';
import type { UpdateRequest } from '@workbench-hub/shared/joining/ports/hub';
import { Process } from '../process.js';
import type { Violation, World } from '../world.js';
import { inNewWorld } from '../world-frame.js';
import { worldLog } from '../world-log.js';
import { type Behavior, INSTALLED_DIGEST, type RolloutBreakage, SimulatedHost } from './simulated-host.js';

export interface RolloutOutcome {
  readonly seed: number;
  readonly behavior: Behavior;
  /** Agents that run the new version in the end. */
  readonly updated: number;
  readonly tasks: number;
  readonly steps: number;
  readonly faults: ReadonlyMap<string, number>;
  readonly violations: readonly Violation[];
  readonly digest: string;
}

export interface RolloutOptions {
  readonly seed: number;
  /** Number of agents; by default the seed decides. */
  readonly agents?: number;
  readonly breakage?: RolloutBreakage | undefined;
  readonly onTrace?: ((line: string) => void) | undefined;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const NEW_DIGEST = 'b'.repeat(64);
const NEW = versionName('2', NEW_DIGEST);
/** Time of a bad version to be taken back, and of a good one to reach all agents, beyond the faults. */
const PATIENCE_MS = 2 * HOUR_MS;
/** Time in which a version that crashes later does so three times. */
const CRASHES_MS = 4 * HOUR_MS;
const ANSWER_MS = 20;

/** A hub, which may end and start again. */
interface SimulatedRolloutHub {
  readonly name: string;
  files: AgentFiles;
  process: Process | undefined;
  updates: AgentUpdates | undefined;
  rollout: AgentRollout | undefined;
}

export function simulateRollout(options: RolloutOptions): Promise<RolloutOutcome> {
  return inNewWorld(options, (world) => new RolloutWorld(world, options).run());
}

class RolloutWorld {
  readonly #world: World;
  readonly #options: RolloutOptions;
  readonly #behavior: Behavior;
  readonly #hosts: SimulatedHost[];
  readonly #hubs: SimulatedRolloutHub[];
  readonly #rules: RolloutRules;
  readonly #rollouts: AgentRollouts;
  #term = 0;
  #tasks = 0;
  /** Whether a hub goes back to the version before. */
  readonly #goesBack: boolean;

  constructor(world: World, options: RolloutOptions) {
    this.#world = world;
    this.#options = options;
    this.#behavior = world.happens(0.4)
      ? 'GOOD'
      : world.random.of(['CRASHES_AT_ONCE', 'CRASHES_LATER', 'NEVER_JOINS', 'FAILS_PROBE']);
    this.#goesBack = world.happens(0.2);
    const count = options.agents ?? world.between(1, 8);
    const around = {
      world,
      behaviorOf: (name: string): Behavior => (name === NEW ? this.#behavior : 'GOOD'),
      isAnyHubThere: () => this.#hubs.some(({ process }) => process?.alive),
      join: (host: SimulatedHost) => this.#join(host),
      breakage: options.breakage,
    };
    this.#hosts = Array.from({ length: count }, (_, at) => new SimulatedHost(`host-${at}`, around));
    this.#rules = {
      groups: world.happens(0.5) ? [{ labels: ['even'] }, { labels: [] }] : [{ labels: [] }],
      ...{ canaries: world.between(0, 2), atOnce: options.agents ? 50 : world.between(1, 4), hours: null },
    };
    this.#rollouts = rolloutsInMemory((term) => term !== this.#term);
    this.#hubs = Array.from({ length: world.between(1, 2) }, (_, at) => ({
      ...{ name: `hub-${at}`, files: filesOf('2', NEW_DIGEST) },
      ...{ process: undefined, updates: undefined, rollout: undefined },
    }));
  }

  async run(): Promise<RolloutOutcome> {
    const world = this.#world;
    for (const hub of this.#hubs) this.#startHub(hub);
    for (const host of this.#hosts) world.after(world.between(0, 5000), () => host.start());
    for (const host of this.#hosts) this.#bringTasks(host);
    this.#causeFaults();
    const turbulentMs = world.between(5 * MINUTE_MS, HOUR_MS);
    world.after(turbulentMs, () => this.#calm());
    if (this.#goesBack) world.after(turbulentMs / 2, () => this.#goBack());
    const untilMs = turbulentMs + (this.#behavior === 'CRASHES_LATER' ? CRASHES_MS : PATIENCE_MS);
    while (world.nowMs < untilMs && !this.#isOver && world.violations.length === 0 && (await world.step()))
      this.#look();
    await this.#check();
    for (const hub of this.#hubs) hub.process?.end();
    return {
      seed: this.#options.seed,
      behavior: this.#behavior,
      updated: this.#hosts.filter(({ running }) => running === NEW).length,
      tasks: this.#tasks,
      steps: world.steps,
      faults: world.faults,
      violations: world.violations,
      digest: world.digest(),
    };
  }

  /** Whether a good version has reached all agents, after all faults. */
  get #isOver(): boolean {
    if (this.#world.turbulent || this.#behavior !== 'GOOD' || this.#goesBack) return false;
    return this.#hosts.every(({ running, isTrial }) => running === NEW && !isTrial);
  }

  #startHub(hub: SimulatedRolloutHub): void {
    const world = this.#world;
    const process = new Process(hub.name, world, { offsetMs: 0 });
    const log = worldLog(world, hub.name);
    const sessions = {
      request: (agentId: string, request: AgentRequest) => this.#request(process, agentId, request),
    };
    const signer = {
      sign: async (payload: string) => ({ protected: '', payload, signature: '' }),
    };
    const updates = new AgentUpdates({
      ...{ sessions, log, relay: { ask: sessions.request }, runtime: process.runtime },
      offer: { files: hub.files, signer, protocol: 1 },
    });
    Object.assign(hub, { process, updates });
    hub.rollout = new AgentRollout({
      ...{ updates, log, offer: { files: hub.files }, rules: this.#rules, runtime: process.runtime },
      rollouts: this.#rolloutsFor(),
      hubs: { all: async () => this.#hubViews() },
      agents: () => this.#hosts.map(viewOf),
      metrics: { agentWentBack: () => undefined },
    });
    process.onEnd(() => world.after(world.between(1000, 60_000), () => this.#startHub(hub)));
    this.#takeRole();
  }

  /** The first hub that runs has the role. */
  #takeRole(): void {
    const holder = this.#hubs.find(({ process }) => process?.alive);
    for (const { rollout } of this.#hubs) void rollout?.stop();
    this.#term++;
    holder?.rollout?.start(this.#term);
  }

  #hubViews(): HubView[] {
    const live = this.#hubs.filter(({ process }) => process?.alive);
    return live.map(({ files: { version } }) => ({ version, isLive: true }) as HubView);
  }

  #rolloutsFor(): AgentRollouts {
    if (!this.#options.breakage?.forgetsFailures) return this.#rollouts;
    return { ...this.#rollouts, members: async () => [] };
  }

  async #request(process: Process, agentId: string, request: AgentRequest): Promise<AgentReply> {
    await process.wait(this.#world.between(1, ANSWER_MS));
    const host = this.#hosts.find(({ id }) => id === agentId);
    if (request.kind === 'update') await this.#checkOrder(agentId);
    const reply = await host?.request(request as UpdateRequest);
    if (!reply) throw new AgentUnavailable('it is not connected');
    if (request.kind === 'probe' && reply.text !== undefined) {
      const isRight = reply.text === request.nonce || this.#options.breakage?.probeIsNotChecked;
      return { ...reply, text: isRight ? digestOf(request.nonce) : 'another text' } as AgentReply;
    }
    if (reply.error !== null) throw new AgentUnavailable(reply.error);
    return reply as AgentReply;
  }

  #join(host: SimulatedHost): boolean {
    const live = this.#hubs.filter(({ process }) => process?.alive);
    if (live.length === 0) return false;
    const hub = this.#world.random.of(live);
    if (host.isTrial) this.#world.after(1, () => void hub.updates?.prove(host.id));
    return true;
  }

  #bringTasks(host: SimulatedHost): void {
    const world = this.#world;
    world.after(world.between(MINUTE_MS / 2, 10 * MINUTE_MS), () => {
      if (world.nowMs < 2 * HOUR_MS) this.#bringTasks(host);
      this.#tasks++;
      host.beginTask(world.between(1000, 5 * MINUTE_MS));
    });
  }

  #causeFaults(): void {
    const world = this.#world;
    const each = Math.max(5000, 60_000 / this.#hosts.length);
    world.after(world.between(1000, 2 * each), () => {
      if (!world.turbulent) return;
      this.#causeFaults();
      this.#fault(world.random.of(this.#hosts));
    });
  }

  #fault(host: SimulatedHost): void {
    const world = this.#world;
    const part = world.random.next();
    const fault = (kind: string, who = host.id) => world.fault(kind, who);
    if (part < 0.15) {
      const hub = world.random.of(this.#hubs);
      if (!hub.process?.alive) return;
      fault('hub killed', hub.name);
      hub.process.end();
      for (const each of this.#hosts) if (world.happens(1 / this.#hubs.length)) each.disconnect();
      this.#takeRole();
    } else if (part < 0.45) {
      fault('connection lost');
      host.disconnect();
    } else if (part < 0.65) {
      fault('host cut off');
      host.isCutOff = true;
      host.disconnect();
      world.after(world.between(1000, 10 * MINUTE_MS), () => {
        host.isCutOff = false;
      });
    } else if (part < 0.8) {
      fault('disk full');
      host.isDiskFull = true;
      world.after(world.between(1000, 5 * MINUTE_MS), () => {
        host.isDiskFull = false;
      });
    } else if (part < 0.85) {
      fault('agent killed');
      host.killAgent();
    } else if (part < 0.9) {
      fault('power lost');
      host.losePower();
    }
  }

  #calm(): void {
    this.#world.turbulent = false;
    for (const host of this.#hosts) Object.assign(host, { isCutOff: false, isDiskFull: false });
  }

  /** All hubs are installed anew with the version before. */
  #goBack(): void {
    for (const hub of this.#hubs) {
      this.#world.fault('hub rolled back', hub.name);
      hub.files = filesOf('1', INSTALLED_DIGEST);
      hub.process?.end();
    }
  }

  #look(): void {
    const host = this.#hosts.find(({ lost }) => lost > 0);
    if (host) this.#world.violated('no attempt is lost to an update', host.id);
  }

  /** Orders come only while nothing has failed. */
  async #checkOrder(agentId: string): Promise<void> {
    if (this.#hubs.some(({ files }) => files.version !== '2')) return;
    const members = await this.#rollouts.members(rolloutTarget(filesOf('2', NEW_DIGEST)));
    const failed = members.filter(({ progress }) => progress === 'FAILED').map((member) => member.agentId);
    if (failed.length > 0)
      this.#world.violated('the rest stops after a failure', `${agentId} after ${failed.join(', ')}`);
  }

  async #check(): Promise<void> {
    const world = this.#world;
    for (const host of this.#hosts) {
      const { id, state, running, wasKilled } = host;
      if (this.#behavior !== 'GOOD' && [running, state?.current].includes(NEW))
        world.violated('no agent stays on a bad version', id);
      if (this.#behavior === 'GOOD' && !wasKilled && (state?.failed.length ?? 0) > 0)
        world.violated('a lost connection never takes a version back', `${id}: ${state?.failed[0]?.reason}`);
    }
    const hasFailed = this.#hosts.some(({ state }) => (state?.failed.length ?? 0) > 0);
    if (this.#behavior !== 'GOOD' || hasFailed || this.#goesBack) return;
    const behind = this.#hosts.filter(({ running }) => running !== NEW).map(({ id }) => id);
    if (behind.length > 0) world.violated('a good version reaches all agents', behind.join(', '));
  }
}

function filesOf(version: string, digest: string): AgentFiles {
  return { version, files: [{ system: 'linux-x64', digest, sizeBytes: 1 }], find: () => undefined };
}

function viewOf(host: SimulatedHost): AgentView {
  const labels = Number(host.id.slice('host-'.length)) % 2 === 0 ? ['even'] : [];
  const instances = [{ profile: { labels } }];
  return { id: host.id, status: host.isUp ? 'UP' : 'DOWN', instances } as unknown as AgentView;
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
