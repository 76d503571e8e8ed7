/**
 * A world of agents that their hub updates: one hub, or two of which one drives, and hosts with launchers. Hubs and agents are killed, hosts lose
 * power, connections are lost, disks are full and downloads corrupt; the version is good, or bad in one of several ways, a hub may go back
 * to the version before, and an administrator may stop the rollout and resume it. Afterwards no task was lost to an update, no agent is on a bad
 * version, no lost connection and no full disk has taken a version back, nothing was ordered after a failure or a stop, and a good version is everywhere but where
 * it has failed.
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
/** Shortest time for which a disk is full: launchers look at it each second of a trial. */
const DISK_FULL_MS = 3000;
/** Time in which an order that was on its way at a stop has reached its agent. */
const ON_ITS_WAY_MS = 1000;

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
  /** Agents on which a hub has seen the version fail, since an administrator resumed the rollout. */
  readonly #failed = new Set<string>();
  /** Hubs that hosts have joined last. */
  readonly #joined = new Map<SimulatedHost, SimulatedRolloutHub>();
  #term = 0;
  #tasks = 0;
  /** Whether a hub goes back to the version before. */
  readonly #goesBack: boolean;
  /** Whether an administrator stops and resumes the rollout. */
  readonly #isAdministered: boolean;

  constructor(world: World, options: RolloutOptions) {
    this.#world = world;
    this.#options = options;
    this.#behavior = world.happens(0.4)
      ? 'GOOD'
      : world.random.of(['CRASHES_AT_ONCE', 'CRASHES_LATER', 'NEVER_JOINS', 'FAILS_PROBE']);
    this.#goesBack = world.happens(0.2);
    this.#isAdministered = world.happens(0.5);
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
    if (this.#isAdministered) this.#administer();
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
    return this.#hosts.every((host) => (host.running === NEW && !host.isTrial) || this.#isPassedOver(host));
  }

  /** Whether a good version is not to come to a host any more: something else has ended its trials. */
  #isPassedOver(host: SimulatedHost): boolean {
    return this.#isAdministered && hasFailed(host);
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
    const { breakage } = this.#options;
    const rollouts: AgentRollouts = {
      ...this.#rollouts,
      record: (look, term) => {
        for (const { agentId, progress } of look.changed) {
          if (progress === 'FAILED') this.#failed.add(agentId);
          if (progress === 'DONE') this.#failed.delete(agentId);
        }
        return this.#rollouts.record(look, term);
      },
    };
    if (breakage?.forgetsFailures) return { ...rollouts, members: async () => [] };
    if (!breakage?.ignoresStops) return rollouts;
    return {
      ...rollouts,
      find: async (target) => {
        const rollout = await rollouts.find(target);
        return rollout && { ...rollout, stoppedAtMs: null };
      },
    };
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
    this.#joined.set(host, hub);
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
      // Trials are short, and faults in them matter most.
      const onTrial = this.#hosts.filter(({ isTrial }) => isTrial);
      this.#fault(world.random.of(onTrial.length > 0 && world.happens(0.5) ? onTrial : this.#hosts));
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
      for (const each of this.#hosts) if (this.#joined.get(each) === hub) each.disconnect();
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
      world.after(world.between(DISK_FULL_MS, 5 * MINUTE_MS), () => {
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

  /** An administrator comes now and then, and stops the rollout for a while, or has it go on past what has failed. */
  #administer(): void {
    const world = this.#world;
    world.after(world.between(MINUTE_MS, 15 * MINUTE_MS), () => {
      const target = rolloutTarget(this.#files);
      if (!world.happens(0.3)) return this.#resume(target);
      world.tell('administrator', 'stops the rollout');
      void this.#rollouts.stop(target, world.nowMs, 'administrator');
      world.after(world.between(MINUTE_MS, 10 * MINUTE_MS), () => this.#resume(target));
    });
  }

  #resume(target: string): void {
    const world = this.#world;
    world.tell('administrator', 'resumes the rollout');
    this.#failed.clear();
    void this.#rollouts.resume(target, world.nowMs).then(async () => {
      if (!this.#options.breakage?.resumesNothing) return;
      const changed = (await this.#rollouts.members(target)).map((member) =>
        member.progress === 'PASSED_OVER' ? { ...member, progress: 'FAILED' as const } : member,
      );
      await this.#rollouts.record({ target, changed, gone: [] }, this.#term);
    });
    this.#administer();
  }

  /** Files of the hubs, which have the same. */
  get #files(): AgentFiles {
    return (this.#hubs[0] as SimulatedRolloutHub).files;
  }

  #look(): void {
    const host = this.#hosts.find(({ lost }) => lost > 0);
    if (host) this.#world.violated('no attempt is lost to an update', host.id);
  }

  /** Orders come only while nothing has failed, and nobody has stopped the rollout; none comes where it has failed. */
  async #checkOrder(agentId: string): Promise<void> {
    const world = this.#world;
    const target = rolloutTarget(this.#files);
    const stoppedAtMs = (await this.#rollouts.find(target))?.stoppedAtMs ?? null;
    if (stoppedAtMs !== null && world.nowMs - stoppedAtMs > ON_ITS_WAY_MS)
      world.violated('a stopped rollout orders nothing', agentId);
    if (this.#files.version !== '2') return;
    const members = await this.#rollouts.members(target);
    if (members.some((member) => member.agentId === agentId && member.progress === 'PASSED_OVER'))
      world.violated('no agent that was passed over is ordered', agentId);
    if (this.#failed.size > 0)
      world.violated('the rest stops after a failure', `${agentId} after ${[...this.#failed].join(', ')}`);
  }

  async #check(): Promise<void> {
    const world = this.#world;
    for (const host of this.#hosts) {
      const { id, state, running, wasKilled } = host;
      if (this.#behavior !== 'GOOD' && [running, state?.current].includes(NEW))
        world.violated('no agent stays on a bad version', id);
      const reason = state?.failed[0]?.reason ?? '';
      const isByConnection = wasKilled ? reason.includes(' within ') : reason !== '';
      if (this.#behavior === 'GOOD' && isByConnection)
        world.violated('no lost connection and no full disk takes a version back', `${id}: ${reason}`);
    }
    const failed = this.#hosts.filter((host) => hasFailed(host));
    const isHeldUp = failed.length > 0 && !this.#isAdministered;
    if (this.#behavior !== 'GOOD' || isHeldUp || this.#goesBack) return;
    const behind = this.#hosts
      .filter((host) => host.running !== NEW && !failed.includes(host))
      .map(({ id }) => id);
    if (behind.length > 0) world.violated('a good version reaches all agents', behind.join(', '));
  }
}

/** Whether a version has failed on a host. */
function hasFailed({ state }: SimulatedHost): boolean {
  return (state?.failed.length ?? 0) > 0;
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
