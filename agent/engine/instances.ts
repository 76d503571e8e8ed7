import type {
  HubConnection,
  InstanceRequest,
  InstanceState,
  Reply,
} from '@workbench-hub/shared/joining/ports/hub';
import { type BackOff, backOff } from '@workbench-hub/shared/runtime/back-off';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime, Timer } from '@workbench-hub/shared/runtime/runtime';
import type { Programs } from '../core/ports/programs.js';
import { secondsText } from '../core/program-end.js';
import type { TaskNames } from '../core/task-names.js';
import { ProcessSharing } from './process-sharing.js';
import { type InstanceSettings, type Reservation, Supervisor } from './supervisor.js';

export interface InstancesOptions {
  readonly programs: Programs;
  readonly runtime: Runtime;
  readonly log: Logger;
}

/** Range of the cooldown after a host fault; each is between half of the current ceiling and all of it. */
const MIN_COOLDOWN_MS = 2000;
const MAX_COOLDOWN_MS = 60_000;

/** All instances of this agent. Informs the hub of each change. */
export class Instances {
  readonly #supervisors: ReadonlyMap<string, Supervisor>;
  readonly #options: InstancesOptions;
  readonly #cooldowns: BackOff;
  #cooldown: Timer | null = null;
  #connection: HubConnection | null = null;
  #stopping = false;
  #isHeld = false;

  constructor(settings: readonly InstanceSettings[], options: InstancesOptions) {
    this.#options = options;
    this.#cooldowns = backOff(MIN_COOLDOWN_MS, MAX_COOLDOWN_MS, options.runtime.random);
    const onChange = (state: InstanceState) => this.#connection?.sendInstance(state);
    const sharedProcesses = new Map<string, ProcessSharing>();
    const sharingOf = ({ commonProcess }: InstanceSettings): ProcessSharing | null => {
      if (commonProcess === null) return null;
      const sharing =
        sharedProcesses.get(commonProcess) ?? new ProcessSharing(commonProcess, options.runtime.clock);
      sharedProcesses.set(commonProcess, sharing);
      return sharing;
    };
    this.#supervisors = new Map(
      settings.map((instance) => [
        instance.id,
        new Supervisor(instance, { ...options, onChange, sharing: sharingOf(instance) }),
      ]),
    );
  }

  /** Starts the instances with `autostart`. */
  start(): void {
    for (const supervisor of this.#supervisors.values()) {
      if (supervisor.settings.autostart) supervisor.command('start');
    }
  }

  /** Lets no instance take a task until {@link release}. */
  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
  }

  /** Stops each instance as soon as it has no task. Does not wait. */
  drain(): void {
    this.#stopping = true;
    for (const supervisor of this.#supervisors.values()) supervisor.command('stop');
  }

  /** Ends all instances; resolves when none of their processes is left. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#cooldown?.cancel();
    await Promise.all([...this.#supervisors.values()].map((supervisor) => supervisor.stop()));
  }

  states(): InstanceState[] {
    return [...this.#supervisors.values()].map((supervisor) => supervisor.state());
  }

  /** Informs this hub from now on. Changes since the introduction are sent at once. */
  joined(connection: HubConnection, introduced: readonly InstanceState[]): void {
    this.#connection = connection;
    const before = new Map(introduced.map((state) => [state.id, state]));
    for (const state of this.states()) {
      if (before.get(state.id)?.status !== state.status) connection.sendInstance(state);
    }
  }

  reserve(instanceId: string, task: TaskNames): Reservation | undefined {
    return this.#isHeld ? undefined : this.#supervisors.get(instanceId)?.reserve(task);
  }

  /** Begins a cooldown after a host fault, longer each time, so that this host does not attract tasks that it would return. The
   *  hub is informed before this returns. */
  coolDown(fault: string): void {
    // Concurrent jobs meet the same fault: it counts once.
    if (this.#cooldown !== null || this.#stopping) return;
    const cooldownMs = this.#cooldowns.nextMs();
    const reason = `no task is accepted for ${secondsText(cooldownMs)}: ${fault}`;
    this.#options.log.error(reason);
    for (const supervisor of this.#supervisors.values()) supervisor.coolDown(reason);
    this.#cooldown = this.#options.runtime.timers.after(cooldownMs, () => {
      this.#cooldown = null;
      for (const supervisor of this.#supervisors.values()) supervisor.endCooldown();
    });
  }

  /** Resets the cooldown after a successful job. */
  hostRecovered(): void {
    this.#cooldowns.reset();
  }

  reply(request: InstanceRequest): Reply {
    const supervisor = this.#supervisors.get(request.instanceId);
    if (!supervisor) return { error: `this agent has no instance ${request.instanceId}`, text: null };
    if (request.kind === 'instanceLog') return { error: null, ...supervisor.output.latest(request.logType) };
    if (request.kind === 'instanceCrashes')
      return { error: null, text: null, crashes: supervisor.crashes.latest() };
    if (this.#stopping) return { error: 'the agent is stopping', text: null };
    supervisor.command(request.command);
    return { error: null, text: null };
  }
}
