/** `POST /agent/enroll`: exchanges the one-time code of an agent for a credential of its own. */
import type { HttpBindings } from '@hono/node-server';
import { enrollmentRequest } from '@workbench-hub/shared/agent-protocol/messages';
import type { Clock, Timers } from '@workbench-hub/shared/runtime/runtime';
import type { Context } from 'hono';
import { HubError } from '../../../core/errors.js';
import type { AgentCredentials } from '../../../engine/accounts/agent-credentials.js';
import { RefusalCount } from '../../../engine/accounts/refusal-count.js';
import { ALWAYS_ADMITTED } from '../../requests/admission.js';
import { readBytes } from '../../requests/parsing/body.js';
import type { AgentGuard } from './agent-guard.js';
import { refusal } from './refusal.js';

export interface EnrollmentOptions {
  readonly credentials: Pick<AgentCredentials, 'exchange'>;
  readonly guard: AgentGuard;
  /** Keys that sign orders to update, the newest first. */
  readonly updateKeys: readonly string[];
  readonly clock: Clock;
  readonly timers: Timers;
}

/** Limit of the body; an id and a code take much less. */
const BODY_LIMIT = { bytes: 4096, setBy: null };

const BODY_TIMEOUT_MS = 10_000;

/** Wrong codes of one address, or one network of IPv6: more than anybody mistypes, and too few to guess one. */
const TRIES = { max: 30, withinMs: 5 * 60_000 };

/** One message for every reason, so that trying codes reveals nothing. The log of the hub has the reason. */
const REFUSED = 'the code is not accepted: it is good once, for its own agent id, and for a short time';

class BadBody extends Error {
  readonly status: 400 | 408 | 413;

  constructor(message: string, { status, ...options }: ErrorOptions & { readonly status: 400 | 408 | 413 }) {
    super(message, options);
    this.status = status;
  }
}

export class Enrollment {
  readonly #options: EnrollmentOptions;
  readonly #tries: RefusalCount;

  constructor(options: EnrollmentOptions) {
    this.#options = options;
    this.#tries = new RefusalCount(options.clock, TRIES);
  }

  async serve(context: Context): Promise<Response> {
    const { guard } = this.#options;
    const { incoming } = context.env as HttpBindings;
    if (!guard.admitsConnection(incoming)) {
      return this.#refusal(context, 401, 'a client certificate of an agent is required');
    }
    if (incoming.method !== 'POST') return this.#refusal(context, 405, 'POST only', { allow: 'POST' });
    const waitS = this.#tries.waitS(guard.networkOf(incoming));
    if (waitS > 0) {
      guard.refused(incoming, { reason: 'too many codes were tried from this address', status: 429 });
      const message = `too many codes were tried from this address: try again in ${waitS} s`;
      return this.#refusal(context, 429, message, { 'retry-after': `${waitS}` });
    }
    try {
      const { agentId, code } = parseEnrollment(await this.#readBody(context));
      return await this.#exchange(context, agentId, code);
    } catch (error) {
      if (!(error instanceof BadBody)) throw error;
      guard.refused(incoming, { reason: error.message, status: error.status });
      return this.#refusal(context, error.status, error.message);
    }
  }

  async #exchange(context: Context, agentId: string, code: string): Promise<Response> {
    const { credentials, guard, updateKeys } = this.#options;
    const { incoming } = context.env as HttpBindings;
    const outcome = await credentials.exchange(agentId, code);
    if ('refusal' in outcome) {
      this.#tries.add(guard.networkOf(incoming));
      const reason = `enrollment of agent ${agentId}: ${outcome.refusal}`;
      guard.refused(incoming, { reason, agentId: outcome.agentId, status: 401 });
      return this.#refusal(context, 401, REFUSED);
    }
    guard.enrolled(incoming, agentId);
    return context.json({ credential: outcome.credential, updateKeys });
  }

  /** Rejects with BadBody. */
  async #readBody(context: Context): Promise<string> {
    const body = readBytes(context, BODY_LIMIT, ALWAYS_ADMITTED).catch((error: unknown) => {
      throw error instanceof HubError && error.code === 'BODY_TOO_LARGE'
        ? new BadBody(error.message, { status: 413, cause: error })
        : error;
    });
    let expired: () => void = () => undefined;
    const timeout = new Promise<never>((_, reject) => {
      const message = `the body did not arrive within ${BODY_TIMEOUT_MS / 1000} s`;
      expired = () => reject(new BadBody(message, { status: 408 }));
    });
    const deadline = this.#options.timers.after(BODY_TIMEOUT_MS, expired);
    try {
      return (await Promise.race([body, timeout])).toString();
    } finally {
      deadline.cancel();
    }
  }

  #refusal(
    context: Context,
    status: 400 | 401 | 405 | 408 | 413 | 429,
    message: string,
    headers: Readonly<Record<string, string>> = {},
  ): Response {
    return refusal(context, this.#options.clock, status, message, { ...headers, connection: 'close' });
  }
}

/** Throws BadBody, with nothing of the body in its message: that may be a code. */
function parseEnrollment(text: string): { agentId: string; code: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new BadBody('the body is not JSON', { status: 400, cause });
  }
  const parsed = enrollmentRequest.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const what = `${issue?.path.join('.') || 'body'}: ${issue?.message}; allowed: {"agentId", "code"}`;
  throw new BadBody(what, { status: 400 });
}
