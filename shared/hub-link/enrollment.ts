/** Fetches a credential from a hub for a one-time code. */

import { type Dispatcher, request } from 'undici';
import { enrollmentResponse } from '../agent-protocol/messages.js';
import { JoinFailed } from '../joining/ports/hub.js';
import { enrollmentUrl } from './addresses.js';
import { connectionFault } from './connection-failures.js';
import { parsedJson } from './parsed-json.js';

export interface EnrollmentOptions {
  readonly agentId: string;
  readonly code: string;
  readonly dispatcher: Dispatcher;
}

/** Credential and keys that a hub gives for a code. */
export interface Enrolled {
  readonly credential: string;
  /** Keys with which the hub signs orders to update; none of a hub that updates no agents. */
  readonly updateKeys: readonly string[];
}

/** Exchanges the code. Rejects with {@link JoinFailed}, which names the remedy. */
export async function fetchCredential(
  address: string,
  { agentId, code, dispatcher }: EnrollmentOptions,
): Promise<Enrolled> {
  let answer: Dispatcher.ResponseData;
  let text: string;
  try {
    answer = await request(enrollmentUrl(address), {
      method: 'POST',
      dispatcher,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ agentId, code }),
    });
    text = await answer.body.text();
  } catch (error) {
    throw new JoinFailed(`${address}: ${connectionFault(error)}`, { cause: error });
  }
  const { statusCode } = answer;
  if (statusCode === 200) {
    const parsed = enrollmentResponse.safeParse(parsedJson(text));
    if (parsed.success) {
      const { credential, updateKeys = [] } = parsed.data;
      return { credential, updateKeys };
    }
  }
  if (statusCode === 429) throw new JoinFailed(`${address}: the hub refused (429): ${messageOfBody(text)}`);
  if (statusCode === 401 || statusCode === 400) {
    throw new JoinFailed(
      `${address}: the hub refused (${statusCode}): ${messageOfBody(text)}. Is ${agentId} the id for which the code was made? ` +
        `Another code is made by "workbench-hub agent enroll ${agentId}"; the log of the hub tells more`,
    );
  }
  throw new JoinFailed(
    `${address}: the server at this address is not a hub (${statusCode}): check the configured address`,
  );
}

/** Message of an error body, or the beginning of any other body. */
function messageOfBody(text: string): string {
  const { message } = (parsedJson(text) ?? {}) as { message?: unknown };
  return typeof message === 'string' ? message : text.trim().slice(0, 200);
}
