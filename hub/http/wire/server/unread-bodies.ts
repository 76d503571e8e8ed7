/**
 * End of a connection on which a body is refused before it has arrived. A socket closed with unread bytes resets the connection,
 * and a client that still sends gets the reset in place of its response. So the hub closes its own side only, and discards what
 * still comes for a while.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';

/** Time after which the rest of a body is no longer read. */
const LINGER_MS = 10_000;

/** Time after which a client that sends nothing more is not waited for. */
const QUIET_MS = 1000;

/** Lets the client read the response if that ends the connection in the middle of the body. A client that is too slow (408), or
 *  that was never told to send its body (`isUnasked`), is not waited for. */
export function lingerAfter(
  request: IncomingMessage,
  response: ServerResponse,
  timers: Timers,
  isUnasked: () => boolean,
): void {
  // Node's own listener closes the socket.
  response.prependOnceListener('finish', () => {
    const { socket } = request;
    if (request.complete || socket.destroyed || response.statusCode === 408 || isUnasked()) return;
    const { destroySoon } = socket;
    let isLingering = false;
    socket.destroySoon = () => {
      if (!isLingering) linger(request, socket, timers);
      isLingering = true;
    };
    request.once('end', () => {
      socket.destroySoon = destroySoon;
    });
  });
}

function linger(request: IncomingMessage, socket: Socket, timers: Timers): void {
  let passedMs = 0;
  let seenBytes = socket.bytesRead;
  const check = () => {
    passedMs += QUIET_MS;
    const isQuiet = socket.bytesRead === seenBytes;
    seenBytes = socket.bytesRead;
    if (isQuiet || passedMs >= LINGER_MS) socket.destroy();
    else timer = timers.after(QUIET_MS, check);
  };
  let timer = timers.after(QUIET_MS, check);
  socket.once('close', () => timer.cancel());
  request.once('end', () => socket.destroy());
  socket.end();
  request.resume();
}
