// node balancer-main.mjs CONFIG: runs the load balancer of the quickstart. CONFIG is JSON: {"port", "hubs": [address, …]}.
import { readFileSync } from 'node:fs';
import { createBalancer } from './balancer.mjs';

const { port, hubs } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const { server, close } = createBalancer({ hubs });
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void close());
server.listen(port, '127.0.0.1');
