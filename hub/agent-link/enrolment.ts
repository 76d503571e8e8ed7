/** `POST /agent/enroll`: an agent gives its one-time code and gets a credential of its own. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { AGENT_PATHS, enrolmentRequest } from '@workbench-hub/shared/agent-protocol/messages';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { AgentCredentials } from '../engine/accounts/agent-credentials.js';
import type { AgentAuthenticator } from './agent-authenticator.js';
import { RefusalCount } from './refusal-count.js';

export interface EnrolmentOptions {
  readonly credentials: AgentCredentials;
  readonly authenticator: AgentAuthenticator;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Logger;
  /** The body of an answer that refuses. */
  readonly errorBody: (status: number, message: string, path: string) => object;
}

/** An id and a code are much less. */
const MAX_BODY_BYTES = 4096;

/** So few bytes need no longer. */
const BODY_TIMEOUT_MS = 10_000;

/** Nobody mistypes a code more often; who guesses has not come far by then. */
const TRIES = { max: 30, withinMs: 5 * 60_000 };

/** The same for every reason: who tries codes learns nothing from it. The log of the hub tells more. */
const REFUSED = 'the code is not accepted: it is good once, for its own agent id, and for a short time';

class BadBody extends Error {
  readonly status: number;

  constructor(message: string, { status, ...options }: ErrorOptions & { readonly status: number }) {
    super(message, options);
    this.status = status;
  }
}

/** A handler that takes requests for the path of enrolment and says false to all others. */
export function enrolmentHandler({
  credentials,
  authenticator,
  clock,
  timers,
  log,
  errorBody,
}: EnrolmentOptions) {
  const tries = new RefusalCount(clock, TRIES);

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (!authenticator.admitsConnection(request)) {
      return answer(response, 401, 'a client certificate of an agent is required');
    }
    if (request.method !== 'POST') {
      response.setHeader('allow', 'POST');
      return answer(response, 405, 'POST only');
    }
    const address = authenticator.addressOf(request);
    const waitS = tries.waitS(address);
    if (waitS > 0) {
      authenticator.refused(request, { reason: 'too many codes were tried from this address', status: 429 });
      response.setHeader('retry-after', waitS);
      return answer(response, 429, `too many codes were tried from this address: try again in ${waitS} s`);
    }
    const { agentId, code } = readEnrolment(await readBody(request, timers));
    const outcome = await credentials.exchange(agentId, code);
    if ('refusal' in outcome) {
      tries.add(address);
      const reason = `enrolment of agent ${agentId}: ${outcome.refusal}`;
      authenticator.refused(request, { reason, agentId: outcome.agentId });
      return answer(response, 401, REFUSED);
    }
    log.info({ agentId, remoteAddress: address }, 'an agent was enrolled: it has a new credential');
    authenticator.record({
      action: 'AGENT_ENROLLED',
      address,
      identity: null,
      agentId,
      resource: AGENT_PATHS.ENROLL,
      status: 200,
    });
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ credential: outcome.credential }));
  };

  const answer = (response: ServerResponse, status: number, message: string): void => {
    const body = JSON.stringify(errorBody(status, message, AGENT_PATHS.ENROLL));
    response.writeHead(status, { 'content-type': 'application/json', connection: 'close' }).end(body);
  };

  return (request: IncomingMessage, response: ServerResponse): boolean => {
    if (request.url?.split('?')[0] !== AGENT_PATHS.ENROLL) return false;
    serve(request, response).catch((error: unknown) => {
      if (request.destroyed && !request.complete) return;
      if (error instanceof BadBody) {
        authenticator.refused(request, { reason: error.message, status: error.status });
        return answer(response, error.status, error.message);
      }
      log.error({ err: error }, 'an enrolment failed');
      answer(response, 500, 'the enrolment failed; the log of the hub tells more');
    });
    return true;
  };
}

/** Reads no more than the limit, whatever is announced. */
function readBody(request: IncomingMessage, timers: Timers): Promise<string> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let length = 0;
    const settled = (settle: () => void) => {
      deadline.cancel();
      request.off('data', onData);
      settle();
    };
    const onData = (piece: Buffer) => {
      length += piece.length;
      if (length > MAX_BODY_BYTES) {
        settled(() =>
          reject(new BadBody(`the body may have at most ${MAX_BODY_BYTES} bytes`, { status: 413 })),
        );
      } else pieces.push(piece);
    };
    const deadline = timers.after(BODY_TIMEOUT_MS, () => {
      settled(() =>
        reject(new BadBody(`the body did not come within ${BODY_TIMEOUT_MS / 1000} s`, { status: 408 })),
      );
    });
    request.on('data', onData);
    request.once('end', () => settled(() => resolve(Buffer.concat(pieces).toString())));
    request.once('error', (error) => settled(() => reject(error)));
  });
}

function readEnrolment(text: string): { agentId: string; code: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new BadBody('the body is not JSON', { status: 400, cause });
  }
  const parsed = enrolmentRequest.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const what = `${issue?.path.join('.') || 'body'}: ${issue?.message}; allowed: {"agentId", "code"}`;
  throw new BadBody(what, { status: 400 });
}
