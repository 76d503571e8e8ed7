/** Bodies of endpoints that are open to all, such as logins: small, and there within seconds. */
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import { HubError } from '../../../core/errors.js';
import { type BodyReader, readJson } from './body.js';

/** Limit of a body whose sender is not identified; a login is much smaller. */
const LIMIT = { bytes: 16 * 1024, setBy: 'without a token' };

/** Time in which all of it must arrive. */
const TIMEOUT_MS = 5000;

/** Reads as {@link readJson}. Rejects with BODY_TOO_SLOW, too. */
export function openBodyReader(timers: Timers): BodyReader {
  return async (context, _, permit) => {
    const body = readJson(context, LIMIT, permit);
    // After the timeout nobody waits for it: it fails with its connection.
    body.catch(() => undefined);
    let expired: () => void = () => undefined;
    const timeout = new Promise<never>((_resolve, reject) => {
      const message = `a body without a token must arrive within ${TIMEOUT_MS / 1000} s`;
      expired = () => reject(new HubError('BODY_TOO_SLOW', message));
    });
    const deadline = timers.after(TIMEOUT_MS, expired);
    try {
      return await Promise.race([body, timeout]);
    } finally {
      deadline.cancel();
    }
  };
}
