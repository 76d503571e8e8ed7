/** Transfer of blobs over the simulated network, between an agent, or a hub that joins another one, and a hub. */
import { HubError } from '@workbench-hub/hub/core/errors';
import { DigestMismatch } from '@workbench-hub/hub/core/ports/blobs';
import { type FileTransfer, TransferFailed } from '@workbench-hub/shared/joining/ports/hub';
import { BlobLost } from '@workbench-hub/shared/joining/ports/spool';
import { piecesOf } from './agent-disk.js';
import type { Network } from './network.js';
import type { Process } from './process.js';
import type { SimulatedHubs } from './simulated-hubs.js';
import type { World } from './world.js';

export interface TransferEnds {
  /** Id of the agent. */
  readonly id: string;
  readonly process: Process;
  readonly network: Network;
  readonly hubs: SimulatedHubs;
  readonly world: World;
}

/** Transfer with the hub at this address. */
export function transferWith(
  address: string,
  { id, process, network, hubs, world }: TransferEnds,
): FileTransfer {
  const hub = hubs.at(address);
  const unreachable = (why: string) => new TransferFailed('UNREACHABLE', why);
  const way = { agentId: id, address };
  const request = <T>(serve: () => Promise<T>, signal: AbortSignal): Promise<T> =>
    network.request(
      way,
      process,
      () => {
        if (world.turbulent && world.happens(0.05)) return Promise.reject(unreachable('503'));
        return serve().catch((error: unknown) => {
          throw transferError(error);
        });
      },
      { signal, unreachable },
    );
  return {
    uploadedBytes: (digest, signal) =>
      request(async () => {
        if (await hub.engine?.sentBlobs.findForReport(id, digest)) return 'WHOLE';
        return { keptBytes: await hub.files.receivedBytes(digest) };
      }, signal),
    download: (digest, fromByte, signal) =>
      request(async () => {
        const content = await hub.blobOf(digest);
        if (!content) throw new TransferFailed('MISSING', `no content ${digest}`);
        const begin = fromByte > content.length ? 0 : fromByte;
        const ends = { sender: hub.process, receiver: process };
        const pieces = piecesOf(content.subarray(begin));
        return {
          fromByte: begin,
          content: network.body(way, ends, pieces, { signal, unreachable }),
        };
      }, signal),
    upload: (file, content, fromByte, signal) =>
      request(() => {
        const ends = { sender: process, receiver: hub.process };
        const body = network.body(way, ends, content, { signal, unreachable });
        return hub.receive(id, file, body, fromByte);
      }, signal),
  };
}

/** The error of the hub as its response tells it; errors of the way and of the sender's own files are passed on. */
function transferError(error: unknown): unknown {
  if (error instanceof TransferFailed || error instanceof BlobLost) return error;
  if (error instanceof DigestMismatch) return new TransferFailed('MISMATCH', String(error));
  const isAway = error instanceof HubError && error.code === 'STORE_UNAVAILABLE';
  return new TransferFailed(isAway ? 'UNAVAILABLE' : 'REFUSED', String(error));
}
