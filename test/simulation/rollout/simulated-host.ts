/** A host whose agent is one file: the real launcher and the real updates of the agent, over a simulated disk and simulated tasks. */
import { BlobMismatch } from '@workbench-hub/agent/core/ports/blob-cache';
import type { FromLauncher, Launch, ToLauncher } from '@workbench-hub/agent/core/ports/launcher';
import type { UpdateOrder } from '@workbench-hub/agent/core/ports/update-orders';
import type { Versions } from '@workbench-hub/agent/core/ports/versions';
import type { VersionState } from '@workbench-hub/agent/core/version-states';
import { Updates } from '@workbench-hub/agent/engine/updates';
import { type AgentEnd, type LaunchedAgent, Launcher } from '@workbench-hub/one-file/launcher';
import { versionName } from '@workbench-hub/shared/domain/agent-update';
import type { HubConnection, Reply, UpdateRequest } from '@workbench-hub/shared/joining/ports/hub';
import { Process } from '../process.js';
import type { World } from '../world.js';
import { worldLog } from '../world-log.js';

/** Behavior of a version, once it runs. */
export type Behavior = 'GOOD' | 'CRASHES_AT_ONCE' | 'CRASHES_LATER' | 'NEVER_JOINS' | 'FAILS_PROBE';

export const INSTALLED_DIGEST = 'a'.repeat(64);
const INSTALLED = versionName('1', INSTALLED_DIGEST);
const LATER_MS = 3_600_000;

export interface HostSurroundings {
  readonly world: World;
  /** Behavior of a version by its name. */
  readonly behaviorOf: (name: string) => Behavior;
  readonly isAnyHubThere: () => boolean;
  /** Called by an agent that wants to join; false while no hub is there. */
  readonly join: (host: SimulatedHost) => boolean;
  readonly breakage: RolloutBreakage | undefined;
}

/** Defect that is planted to see whether the world finds it. */
export interface RolloutBreakage {
  readonly name: string;
  readonly isAlwaysEmpty?: boolean;
  readonly isHubAlwaysThere?: boolean;
  readonly probeIsNotChecked?: boolean;
  readonly forgetsFailures?: boolean;
  readonly ignoresStops?: boolean;
  readonly resumesNothing?: boolean;
  readonly blamesVersions?: boolean;
}

/** An agent process. */
interface RunningAgent {
  readonly process: Process;
  readonly updates: Updates;
  readonly launch: Launch;
  tasks: number;
  isHeld: boolean;
  /** Ends with the connection to its hub; undefined while it has none. */
  connection: AbortController | undefined;
  readonly onEmpty: Set<() => void>;
}

export class SimulatedHost {
  readonly id: string;
  /** Contents of its disk. */
  state: VersionState | null = null;
  readonly folders = new Set<string>();
  isDiskFull = false;
  /** Whether the network between it and the hubs is down. */
  isCutOff = false;
  /** Whether anything but its version or its connection has ended an agent or a trial there. */
  wasKilled = false;
  /** Tasks that an update has ended. */
  lost = 0;
  readonly #around: HostSurroundings;
  /** Ends of agent processes, as their launcher is told of them. */
  readonly #ends = new Map<Process, (end: AgentEnd) => void>();
  #host: Process | undefined;
  #agent: RunningAgent | undefined;

  constructor(id: string, around: HostSurroundings) {
    this.id = id;
    this.#around = around;
  }

  get isUp(): boolean {
    return this.#agent?.connection !== undefined;
  }

  get isTrial(): boolean {
    return this.#agent?.updates.isTrial ?? false;
  }

  /** Name of the version that runs now; undefined while none does. */
  get running(): string | undefined {
    return this.#agent && (this.#agent.launch.version ?? INSTALLED);
  }

  /** Switches the host on. */
  start(): void {
    const { world } = this.#around;
    const host = new Process(this.id, world, { offsetMs: 0 });
    this.#host = host;
    const saved = this.state;
    void Launcher.open({
      installed: '/opt/workbench-agent',
      build: '1',
      start: (launch, onMessage) => this.#launch(host, launch, onMessage),
      isHubThere: async () => {
        await host.wait(world.between(1, 500));
        if (this.#around.breakage?.isHubAlwaysThere) return true;
        return !this.isCutOff && this.#around.isAnyHubThere();
      },
      hostFault: async () =>
        this.isDiskFull && !this.#around.breakage?.blamesVersions ? 'the disk of its host is full' : null,
      readState: async () => saved,
      writeState: async (state) => {
        await host.wait(world.between(1, 20));
        // The defect is about a disk on which the small file of the state still fits.
        if (this.isDiskFull && !this.#around.breakage?.blamesVersions) throw new Error('ENOSPC');
        this.state = state;
      },
      runtime: host.runtime,
      note: (sentence) => world.tell(this.id, sentence),
    })
      .then((launcher) => launcher.run())
      .then((exitCode) => {
        if (!host.alive) return;
        world.tell(this.id, `ends with ${exitCode}`);
        host.end();
        // A service manager starts it again.
        world.after(world.between(1000, 10_000), () => this.start());
      });
  }

  /** Ends everything like a loss of power, and starts again after a while. */
  losePower(): void {
    const { world } = this.#around;
    if (!this.#host?.alive) return;
    this.wasKilled = true;
    this.#agent?.process.end();
    this.#host.end();
    world.after(world.between(1000, 120_000), () => this.start());
  }

  /** Ends the agent like kill -9. */
  killAgent(): void {
    if (!this.#agent) return;
    this.wasKilled = true;
    this.#end(this.#agent, { exitCode: null, signal: 'SIGKILL' });
  }

  /** Ends the connection of the agent; it joins again. */
  disconnect(): void {
    const agent = this.#agent;
    agent?.connection?.abort(new Error('the connection is lost'));
    if (!agent) return;
    agent.connection = undefined;
    this.#joinSoon(agent);
  }

  /** Answers a request of a hub. Never rejects. */
  async request(request: UpdateRequest): Promise<Reply | undefined> {
    const agent = this.#agent;
    if (!agent?.connection) return undefined;
    const reply = await agent.updates.reply(request);
    return agent.connection && agent.process.alive ? reply : undefined;
  }

  /** Begins a task, if the agent takes one. */
  beginTask(durationMs: number): void {
    const agent = this.#agent;
    if (!agent?.connection || agent.isHeld || agent.updates.isTrial) return;
    agent.tasks++;
    agent.process.after(durationMs, () => {
      agent.tasks--;
      if (agent.tasks === 0) for (const emptied of agent.onEmpty) emptied();
      if (agent.tasks === 0) agent.onEmpty.clear();
    });
  }

  #end(agent: RunningAgent, end: AgentEnd): void {
    if (!agent.process.alive) return;
    agent.process.end();
    agent.connection?.abort(new Error('the agent has ended'));
    agent.connection = undefined;
    if (this.#agent === agent) this.#agent = undefined;
    this.#ends.get(agent.process)?.(end);
    this.#ends.delete(agent.process);
  }

  #launch(host: Process, launch: Launch, onMessage: (message: ToLauncher) => void): LaunchedAgent {
    const { world, behaviorOf } = this.#around;
    const process = new Process(this.id, world, { offsetMs: 0 });
    const behavior = launch.version === null ? 'GOOD' : behaviorOf(launch.version);
    world.tell(this.id, `runs ${launch.version ?? INSTALLED}`);
    const ended = new Promise<AgentEnd>((end) => this.#ends.set(process, end));
    const answers: ((fault: string | null) => void)[] = [];
    const told = (message: ToLauncher) =>
      new Promise<string | null>((answer) => {
        answers.push(answer);
        host.after(1, () => onMessage(message));
      });
    const agent: RunningAgent = {
      ...{ process, launch, tasks: 0, isHeld: false, connection: undefined, onEmpty: new Set() },
      updates: this.#updates(process, launch, told),
    };
    this.#agent = agent;
    const crash = () => this.#end(agent, { exitCode: 1, signal: null });
    if (behavior === 'CRASHES_AT_ONCE') process.after(world.between(10, 500), crash);
    if (behavior === 'CRASHES_LATER') process.after(world.between(60_000, LATER_MS), crash);
    // No version starts without room for its files.
    if (launch.isTrial) process.after(world.between(10, 500), () => this.isDiskFull && crash());
    this.#joinSoon(agent);
    return {
      ended,
      log: () => `printed by ${launch.version}`,
      send: (message: FromLauncher) => {
        if (message.type === 'answer') answers.shift()?.(message.fault);
        else process.after(world.between(10, 1000), () => this.#end(agent, { exitCode: 0, signal: null }));
      },
      kill: () => this.#end(agent, { exitCode: null, signal: 'SIGKILL' }),
    };
  }

  #joinSoon(agent: RunningAgent): void {
    const { world, join, behaviorOf } = this.#around;
    if (behaviorOf(agent.launch.version ?? INSTALLED) === 'NEVER_JOINS') return;
    agent.process.after(world.between(50, 5000), () => {
      if (agent.connection) return;
      if (this.isCutOff) return this.#joinSoon(agent);
      agent.connection = new AbortController();
      if (join(this)) return;
      agent.connection = undefined;
      this.#joinSoon(agent);
    });
  }

  #updates(process: Process, launch: Launch, tell: (message: ToLauncher) => Promise<string | null>): Updates {
    const agentNow = () => this.#agent as RunningAgent;
    return new Updates(
      {
        agent: { agentId: this.id, system: 'linux-x64', version: '1', protocol: 1 },
        versions: this.#versions(process),
        launcher: {
          launch,
          tryVersion: (name, livenessUrl, again) => tell({ type: 'try', name, livenessUrl, again }),
          proven: () => tell({ type: 'proven' }),
        },
        readOrder: async (order) => JSON.parse(order.payload) as UpdateOrder,
        livenessUrlOf: (address) => `${address}/livez`,
        restart: () => {
          const agent = agentNow();
          this.lost += agent.tasks;
          process.after(this.#around.world.between(10, 500), () =>
            this.#end(agent, { exitCode: 0, signal: null }),
          );
        },
      },
      {
        connected: async (signal) => {
          while (!agentNow().connection) {
            await process.wait(500);
            signal.throwIfAborted();
          }
          return this.#connection(process, agentNow().connection as AbortController);
        },
        hubAddress: () => (agentNow().connection ? 'https://hub' : null),
        isEmpty: () => this.#around.breakage?.isAlwaysEmpty === true || agentNow().tasks === 0,
        emptied: () =>
          agentNow().tasks === 0 || this.#around.breakage?.isAlwaysEmpty
            ? Promise.resolve()
            : new Promise((emptied) => agentNow().onEmpty.add(emptied)),
        hold: () => {
          agentNow().isHeld = true;
        },
        release: () => {
          agentNow().isHeld = false;
        },
        startInstances: () => undefined,
        probe: async (nonce) => {
          await process.wait(this.#around.world.between(50, 3000));
          if (this.isDiskFull) throw new Error('ENOSPC');
          const fails = this.#around.behaviorOf(launch.version ?? INSTALLED) === 'FAILS_PROBE';
          return fails ? 'another text' : nonce;
        },
      },
      { runtime: process.runtime, log: worldLog(this.#around.world, this.id) },
    );
  }

  #connection(process: Process, { signal: ended }: AbortController): HubConnection {
    const download = async () => {
      await process.wait(this.#around.world.between(100, 5000));
      ended.throwIfAborted();
      return { fromByte: 0, content: (async function* () {})() };
    };
    return { ended, files: { download } } as unknown as HubConnection;
  }

  #versions(process: Process): Versions {
    const { world } = this.#around;
    return {
      state: async () => this.state,
      installedDigest: async () => INSTALLED_DIGEST,
      has: async (name) => this.folders.has(name),
      keptBytes: async () => 0,
      add: async ({ name }) => {
        await process.wait(world.between(10, 1000));
        if (this.isDiskFull) throw new Error('ENOSPC');
        if (world.turbulent && world.happens(0.1)) {
          world.fault('corrupt download', this.id);
          throw new BlobMismatch('the digest differs');
        }
        this.folders.add(name);
      },
      removeOthers: async () => {
        if (this.isDiskFull) throw new Error('ENOSPC');
      },
    };
  }
}
