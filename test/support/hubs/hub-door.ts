/** Another address of a hub, as a hub of the same cluster has one: it passes on everything, and can ask agents to move. */
import { createServer, request } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { MAX_FRAME_BYTES } from '@workbench-hub/shared/agent-protocol/messages';
import { WebSocket, WebSocketServer } from 'ws';

export interface HubDoor {
  /** `ws://127.0.0.1:49152` */
  readonly address: string;
  /** Number of agents that have joined through this door. */
  readonly connected: number;
  /** Asks these agents to move to the hub at another address. */
  askToMove(address: string): void;
  close(): Promise<void>;
}

/** Opens a door of the hub at `http://127.0.0.1:8080`. */
export async function openDoor(hubAddress: string): Promise<HubDoor> {
  const { hostname, port } = new URL(hubAddress);
  const links = new Set<WebSocket>();
  const sockets = new Set<Socket>();
  const server = createServer((near, answer) => {
    const { method, url: path, headers } = near;
    const far = request({ hostname, port, method, path, headers }, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(answer);
    });
    far.on('error', () => answer.destroy());
    near.pipe(far);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  const webSockets = new WebSocketServer({ noServer: true, maxPayload: MAX_FRAME_BYTES });
  server.on('upgrade', (upgrade, socket, head) => {
    const { authorization } = upgrade.headers;
    const far = new WebSocket(`ws://${hostname}:${port}${upgrade.url}`, {
      headers: authorization === undefined ? {} : { authorization },
    });
    far.once('error', () => socket.destroy());
    far.once('open', () =>
      webSockets.handleUpgrade(upgrade, socket, head, (near) => {
        joinSockets(near, far);
        // The first frame of the hub is the welcome.
        far.once('message', () => links.add(near));
        near.once('close', () => links.delete(near));
      }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port: own } = server.address() as AddressInfo;
  return {
    address: `ws://127.0.0.1:${own}`,
    get connected() {
      return links.size;
    },
    askToMove: (address) => {
      for (const link of links)
        link.send(JSON.stringify([{ type: 'move', reason: 'the test wants it', to: [address] }]));
    },
    close: async () => {
      for (const link of links) link.terminate();
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Passes on all frames, and the end. */
function joinSockets(near: WebSocket, far: WebSocket): void {
  for (const [from, to] of [
    [near, far],
    [far, near],
  ] as const) {
    from.on('message', (frame) => to.send(frame.toString()));
    from.on('error', () => undefined);
    from.once('close', (code, reason) => {
      if (code >= 1000 && code < 5000 && code !== 1005 && code !== 1006) to.close(code, reason);
      else to.terminate();
    });
  }
}
