/** Parts that worlds of several kinds share: the hubs and their starts, the times of faults, and defects that nobody catches. */
import { SimulatedBlobDisk } from './blob-disk.js';
import type { Breakage } from './breakages/breakage.js';
import { DatabaseLink } from './database/link.js';
import { DatabaseServer } from './database/server.js';
import { hubDrains } from './hub-drains.js';
import { type SharedByHubs, SimulatedHub, type SimulatedHubOptions } from './simulated-hub.js';
import { SimulatedHubs } from './simulated-hubs.js';
import { SILENT_OBSERVER } from './watched-ports.js';
import { World } from './world.js';
import { worldLog } from './world-log.js';

/** Runs a new world; a rejection that nobody catches violates it. */
export async function inNewWorld<Outcome>(
  { seed, onTrace }: { readonly seed: number; readonly onTrace?: ((line: string) => void) | undefined },
  run: (world: World) => Promise<Outcome>,
): Promise<Outcome> {
  const world = new World(seed, onTrace);
  const onUnhandled = (reason: unknown) => world.violated('no defect', `nobody catches ${String(reason)}`);
  process.on('unhandledRejection', onUnhandled);
  try {
    return await run(world);
  } finally {
    process.off('unhandledRejection', onUnhandled);
  }
}

export interface HubsSetup
  extends Omit<SimulatedHubOptions, 'name' | 'logFor' | 'breakage' | 'database' | 'shared'> {
  readonly name: string;
  /** Whether their store is on a database server, and whether two of them share it. */
  readonly store: 'DISK' | 'SERVER' | 'SHARED SERVER';
  /** Time for which two hubs keep ended tasks. */
  readonly keptForMs: () => number;
  readonly breakage: { readonly name: string; readonly hub?: Breakage['hub'] | undefined } | undefined;
}

/** A hub of this name, or two of which the second has another one; they are not started. */
export function hubsOf({ store, keptForMs, breakage, ...options }: HubsSetup): SimulatedHubs {
  const { world, name } = options;
  const server = store === 'DISK' ? undefined : new DatabaseServer(world, worldLog(world, 'database'));
  const areTwo = store === 'SHARED SERVER';
  const shared: SharedByHubs | undefined = areTwo
    ? { keptForMs: keptForMs(), drains: hubDrains(), blobs: new SimulatedBlobDisk(world) }
    : undefined;
  const all = (areTwo ? [name, `${name}-2`] : [name]).map((hubName) => {
    const hub = new SimulatedHub({
      ...options,
      name: hubName,
      logFor: (process) => worldLog(world, process.name),
      breakage: breakage?.hub && { name: breakage.name, seed: 1, hub: breakage.hub },
      ...(server ? { database: { server, link: new DatabaseLink(world, server) } } : {}),
      ...(shared ? { shared } : {}),
    });
    hub.observer = SILENT_OBSERVER;
    return hub;
  });
  const hubs = new SimulatedHubs(world, all);
  if (server && areTwo) hubs.observe(server, SILENT_OBSERVER);
  return hubs;
}

/** Starts a hub; one whose store does not answer ends. */
export async function startHub(hub: SimulatedHub, world: World): Promise<void> {
  try {
    await hub.start();
  } catch (error) {
    if (hub.database) hub.kill();
    else world.violated('no defect', `${hub.name} does not start: ${String(error)}`);
  }
}

/** Starts again what has ended: soon, and now and then much later while there are faults. */
export function startLater(world: World, start: () => void): void {
  const isLong = world.turbulent && world.happens(0.15);
  world.after(isLong ? world.between(10_000, 200_000) : world.between(50, 5000), start);
}

/** Lets faults happen as long as the world is turbulent. */
export function beginFaults(world: World, fault: () => void): void {
  const everyMs = world.random.of([8000, 20_000, 60_000]);
  const next = () => {
    if (!world.turbulent) return;
    fault();
    world.after(world.between(500, 2 * everyMs), next);
  };
  world.after(world.between(2000, 20_000), next);
}

/** Prepares a shutdown of a hub; the returned function ends the preparation. */
export function prepareShutdown(hub: SimulatedHub): () => void {
  const change = (isPrepared: boolean) => void hub.engine?.shutdown.change(isPrepared).catch(() => undefined);
  change(true);
  return () => change(false);
}
