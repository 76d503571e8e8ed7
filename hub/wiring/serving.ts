/** Service of an opened hub: from the first client and agent that it lets in to the last. */
import { hostname } from 'node:os';
import type { OnStop } from '@workbench-hub/shared/runtime/service';
import type { OwnAgent } from '../own-agent/own-agent.js';
import type { HubParts } from './hub-parts.js';
import { startOwnInstances } from './own-instances.js';
import { createWebInterface } from './web-interface.js';

/** Time that requests in progress get to complete when the hub stops. */
const STOP_GRACE_MS = 5000;
/** Time that agents get to join other hubs when the hub stops. */
const MOVE_LIMIT_MS = 3000;

/** Lets clients and agents in; resolves with the address. */
export async function serve(
  parts: HubParts,
  onStop: OnStop,
): Promise<{ readonly address: string; readonly ownAgent: OwnAgent | null }> {
  const { engine, tls, runtime, log } = parts;
  let isReady = false;
  const { web, agentConnections } = createWebInterface(parts, () => isReady && isStoreUp(parts));
  const address = await web.listen();
  await parts.hubs.listensAt(parts.config.server.address ?? addressOnNetwork(address));
  onStop(async () => {
    parts.beginStopOfStore();
    // While the agents move, another hub schedules.
    if (parts.hubs.others() > 0) await engine.resign();
    await agentConnections.moveAll('the hub stops', MOVE_LIMIT_MS);
    const closed = web.close(STOP_GRACE_MS);
    await engine.quiesce();
    await closed;
    await engine.stop();
  });
  await engine.start();
  onStop(engine.drains.watch());
  const unwatch = tls?.watch((renewed) => web.renew(renewed), runtime.timers, log);
  isReady = true;
  onStop(() => {
    isReady = false;
    unwatch?.();
  });
  return { address, ownAgent: await startOwnInstances(parts, onStop) };
}

/** Whether database server and object store respond, as far as there are any. */
function isStoreUp({ isDatabaseReachable, isObjectStoreUsable }: HubParts): boolean {
  return (isDatabaseReachable?.() ?? true) && (isObjectStoreUsable?.() ?? true);
}

/** The address at which other machines reach a server that listens on all interfaces of this one. */
function addressOnNetwork(address: string): string {
  const url = new URL(address);
  if (['0.0.0.0', '[::]'].includes(url.hostname)) url.hostname = hostname();
  return url.origin;
}
