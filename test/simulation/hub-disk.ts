/** The disk of the simulated hub with its database and blobs, and the faults that it may have. */
import {
  openSimulatedStore,
  type SimulatedDisk,
  type SimulatedStore,
} from '@workbench-hub/hub/store/sqlite/fixtures/simulated-store';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { SimulatedBlobDisk } from './blob-disk.js';
import type { Breakage } from './breakages/breakage.js';
import type { Process } from './process.js';
import type { World } from './world.js';

export interface DiskListener {
  readonly onCommit: () => void;
  /** Called when a sync begins; the result is called after it. */
  readonly onSync: () => () => void;
  readonly onSyncFailed: () => void;
}

export class HubDisk {
  readonly blobs: SimulatedBlobDisk;
  /** The error of the next commits. */
  refusal: 'SQLITE_FULL' | 'SQLITE_IOERR' | undefined;
  slowSyncs = false;
  failingSync = false;
  /** Time of the last refused commit. */
  refusedAtMs = Number.NEGATIVE_INFINITY;
  /** Action during the next sync. */
  duringSync: (() => void) | undefined;
  readonly #world: World;
  /** The database after a power failure. */
  #durable: Buffer | null = null;
  /** The database after the end of the process. */
  #written: Buffer | null = null;
  #lostPower = false;

  constructor(world: World) {
    this.#world = world;
    this.blobs = new SimulatedBlobDisk(world);
    this.blobs.isFull = () => this.refusal === 'SQLITE_FULL';
  }

  /** Opens the database as the last process, or a power failure, left it. */
  open(
    process: Process,
    log: Logger,
    listener: DiskListener,
    breakage: Breakage | undefined,
  ): { readonly store: SimulatedStore; readonly lostPower: boolean } {
    const lostPower = this.#lostPower;
    this.#lostPower = false;
    const disk: SimulatedDisk = {
      sync: () => this.#sync(process, store, listener),
      refusal: () => {
        if (this.refusal) this.refusedAtMs = this.#world.nowMs;
        return this.refusal;
      },
      onCommit: listener.onCommit,
      onSyncFailed: listener.onSyncFailed,
    };
    const store = openSimulatedStore(
      lostPower ? this.#durable : this.#written,
      breakage?.disk?.(disk) ?? disk,
      process.runtime.timers,
      log,
    );
    process.onEnd(() => {
      this.#written = store.image();
    });
    return { store, lostPower };
  }

  losePower(): void {
    this.#lostPower = true;
    this.blobs.losePower();
  }

  async #sync(process: Process, store: SimulatedStore, listener: DiskListener): Promise<void> {
    const image = store.image();
    const world = this.#world;
    const onSynced = listener.onSync();
    const isSlow = this.slowSyncs || this.duringSync !== undefined;
    const tookMs = isSlow ? world.between(100, 3000) : world.between(0, 6);
    if (this.duringSync) process.after(world.between(0, tookMs), this.duringSync);
    this.duringSync = undefined;
    await process.wait(tookMs);
    if (this.failingSync) {
      this.failingSync = false;
      throw new Error('EIO: simulated');
    }
    this.#durable = image;
    process.after(0, onSynced);
  }
}
