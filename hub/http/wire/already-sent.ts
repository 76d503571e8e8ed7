/** Response of handlers that write to the connection themselves. */
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';

// The server replaces the global Response by a class of its own, which it writes without a look at the marker. Which class this
// constant has depends on the order of imports; reading the body makes it a native one in either case.
void RESPONSE_ALREADY_SENT.body;

export const ALREADY_SENT: Response = RESPONSE_ALREADY_SENT;
