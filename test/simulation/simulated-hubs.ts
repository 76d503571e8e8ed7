/** The hubs of the simulated world: one, or several on one database, of which clients take any. */
import type { HubError } from '@workbench-hub/hub/core/errors';
import type { BlobStore } from '@workbench-hub/hub/core/ports/blobs';
import type { Engine } from '@workbench-hub/hub/engine/engine';
import type { TaskState } from '@workbench-hub/hub/store/sqlite/fixtures/database-in-memory';
import type { AttemptRef } from '@workbench-hub/shared/domain/task';
import type { DatabaseServer } from './database/server.js';
import type { Process } from './process.js';
import type { SimulatedHub } from './simulated-hub.js';
import type { HubObserver } from './watched-ports.js';
import type { World } from './world.js';

export class SimulatedHubs {
  readonly all: readonly SimulatedHub[];
  readonly #world: World;
  #hasChanged = false;
  #isCluster = false;

  constructor(world: World, all: readonly SimulatedHub[]) {
    this.#world = world;
    this.all = all;
  }

  /** Whether they are hubs of a common database, be it only one. */
  get isCluster(): boolean {
    return this.#isCluster;
  }

  /** Whether there are several. */
  get areSeveral(): boolean {
    return this.all.length > 1;
  }

  get first(): SimulatedHub {
    return this.all[0] as SimulatedHub;
  }

  /** One that serves requests, or the first. */
  get serving(): SimulatedHub {
    return this.all.find(({ engine }) => engine !== undefined) ?? this.first;
  }

  /** Any hub, at random. */
  get any(): SimulatedHub {
    return this.areSeveral ? this.#world.random.of(this.all) : this.first;
  }

  /** Server of their database; undefined when the store is on a disk. */
  get server(): DatabaseServer | undefined {
    return this.first.database?.server;
  }

  /** Engines of those that serve requests. */
  get engines(): Engine[] {
    return this.all.flatMap(({ engine }) => engine ?? []);
  }

  /** Whether all serve requests. */
  get areReady(): boolean {
    return this.all.every(({ engine }) => engine !== undefined);
  }

  /** Time since which all of them could work without delay; now while they cannot. */
  get troubleAtMs(): number {
    if (this.#isCluster && !this.all.every(({ isWorking }) => isWorking)) return this.#world.nowMs;
    return Math.max(...this.all.map(({ troubleAtMs }) => troubleAtMs));
  }

  at(address: string): SimulatedHub {
    const hub = this.all.find((each) => each.address === address);
    if (!hub) throw new Error(`there is no hub at ${address}`);
    return hub;
  }

  /** Tells the invariants of what the common database loses. */
  observe(server: DatabaseServer, observer: Pick<HubObserver, 'onUnsyncedLost' | 'onDurableLost'>): void {
    this.#isCluster = true;
    server.onCommit = () => {
      this.#hasChanged = true;
    };
    server.onUnsyncedLost = () => observer.onUnsyncedLost(server.model.tasks());
    server.onDurableLost = () => observer.onDurableLost(server.model.tasks());
  }

  /** The tasks, if they may have changed since the last call. */
  changes(): TaskState[] | undefined {
    if (!this.#isCluster) return this.first.changes();
    if (!this.#hasChanged) return undefined;
    this.#hasChanged = false;
    return this.server?.model.tasks();
  }

  /** A request to one of those that serve. Returns the process that got it; undefined when there is none. */
  request<T>(
    work: (engine: Engine, files: BlobStore, process: Process) => Promise<T>,
    answered: (result: T) => void,
    refused?: (error: HubError) => void,
  ): Process | undefined {
    const open = this.areSeveral ? this.all.filter(({ engine }) => engine !== undefined) : this.all;
    if (open.length === 0) return undefined;
    const hub = open.length > 1 ? this.#world.random.of(open) : (open[0] as SimulatedHub);
    hub.request(work, answered, refused);
    return hub.process;
  }

  /** Whether the attempt was canceled, and its agent may not know yet: another hub that begins to schedule cannot know, either, that it
   *  still runs. */
  hasForgotten({ taskId }: AttemptRef): boolean {
    if (!this.#isCluster) return false;
    return this.server?.model.tasks().find(({ id }) => id === taskId)?.status === 'CANCELED';
  }

  /** Whether nothing of a request takes effect any more. What an ended hub has sent to the database may arrive until the
   *  hub is back. */
  isOver(process: Process | undefined): boolean {
    if (!process) return true;
    if (process.alive) return false;
    const hub = this.all.find(({ name }) => name === process.name);
    return !this.areSeveral || (hub?.process !== process && hub?.engine !== undefined);
  }

  kill(): void {
    for (const hub of this.all) hub.kill();
  }
}
