/** The other end of the WebSocket, which parses messages and sends them back. */
import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';

const server = new WebSocketServer({ port: 0, host: '127.0.0.1', perMessageDeflate: false });
server.on('connection', (socket) =>
  socket.on('message', (data) => socket.send(JSON.stringify(JSON.parse(`${data}`)))),
);
server.on('listening', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('disconnect', () => process.exit());
