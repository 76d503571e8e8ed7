/** A minimal Node server, which accepts requests and holds them. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const held = new Set<ServerResponse>();
const server = createServer((_, response) => {
  held.add(response);
  response.once('close', () => held.delete(response));
});
server.requestTimeout = 0;
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('disconnect', () => process.exit());
