/** Relay between a network namespace and the outside, which share only files: relay.mjs PORT SOCKET. It listens on this port of its
 *  loopback, and connects each connection to the socket. It ends with its standard input, and so with the process that started it. */
import { connect, createServer } from 'node:net';

const [, , port, socket] = process.argv;
const end = () => process.exit();
process.stdin.on('end', end).on('error', end).resume();
createServer((inside) => {
  const outside = connect(socket);
  inside.pipe(outside).pipe(inside);
  for (const [one, other] of [
    [inside, outside],
    [outside, inside],
  ])
    one.on('error', () => other.destroy()).on('close', () => other.destroy());
}).listen(Number(port), '127.0.0.1', () => console.log('ready'));
