/** Connections of a TLS server: the bare socket is tracked during the handshake, and the TLS socket over it afterwards. */
import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Connections } from './connections.js';

export function trackTlsConnections(server: Server, connections: Connections): void {
  const inHandshake = new Map<string, Socket>();
  server.on('connection', (socket: Socket) => {
    const peer = peerOf(socket);
    inHandshake.set(peer, socket);
    connections.opened(socket);
    socket.once('close', () => {
      if (inHandshake.get(peer) === socket) inHandshake.delete(peer);
    });
  });
  server.on('secureConnection', (socket: TLSSocket) => {
    const bare = inHandshake.get(peerOf(socket));
    if (bare) connections.forget(bare);
    inHandshake.delete(peerOf(socket));
    connections.opened(socket);
  });
}

function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
