import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { HubConnection, HubRequest, InstanceState, Reply } from '../core/ports/hub.js';
import type { Programs } from '../core/ports/programs.js';
import { type Claim, type InstanceSettings, Supervisor } from './supervisor.js';

export interface InstancesNeeds {
  readonly programs: Programs;
  readonly runtime: Runtime;
  readonly log: Logger;
}

/** All instances of this agent: keeps them as they are wanted and the hub informed of each change. */
export class Instances {
  readonly #supervisors: ReadonlyMap<string, Supervisor>;
  #connection: HubConnection | null = null;
  #stopping = false;

  constructor(settings: readonly InstanceSettings[], needs: InstancesNeeds) {
    const onChange = (state: InstanceState) => this.#connection?.sendInstance(state);
    this.#supervisors = new Map(
      settings.map((instance) => [instance.id, new Supervisor(instance, { ...needs, onChange })]),
    );
  }

  /** Starts those that are to run from the beginning. */
  start(): void {
    for (const supervisor of this.#supervisors.values()) {
      if (supervisor.settings.autostart) supervisor.command('start');
    }
  }

  /** Ends all; resolves when no process of theirs is left. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await Promise.all([...this.#supervisors.values()].map((supervisor) => supervisor.stop()));
  }

  states(): InstanceState[] {
    return [...this.#supervisors.values()].map((supervisor) => supervisor.state());
  }

  /** Informs this hub from now on. What has changed since `told` (the introduction) is said at once. */
  joined(connection: HubConnection, told: readonly InstanceState[]): void {
    this.#connection = connection;
    const before = new Map(told.map((state) => [state.id, state]));
    for (const state of this.states()) {
      if (before.get(state.id)?.status !== state.status) connection.sendInstance(state);
    }
  }

  claim(instanceId: string, taskId: string): Claim | undefined {
    return this.#supervisors.get(instanceId)?.claim(taskId);
  }

  answer(request: HubRequest): Reply {
    const supervisor = this.#supervisors.get(request.instanceId);
    if (!supervisor) return { error: `this agent has no instance ${request.instanceId}`, text: null };
    if (request.kind === 'instanceLog') return { error: null, text: supervisor.output.read(request.logType) };
    if (this.#stopping) return { error: 'the agent is stopping', text: null };
    supervisor.command(request.command);
    return { error: null, text: null };
  }
}
