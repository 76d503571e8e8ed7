/** Requests to slurmrestd. */
import { readFile } from 'node:fs/promises';
import { messageOf } from '@workbench-hub/shared/runtime/message-of';
import type { Timers } from '@workbench-hub/shared/runtime/runtime';
import type { ManagerSettings } from '../core/hosts/host-recipe.js';
import { WorkloadManagerError } from '../core/ports/workload-manager.js';
import { errorOf, isObject, type Json, versionOf } from './slurmrestd-answers.js';

const TIME_LIMIT_MS = 15_000;
/** slurmrestd lists all jobs of the cluster, some 3 KB each. */
const MAX_ANSWER_BYTES = 256 * 2 ** 20;

export type RestSettings = Extract<ManagerSettings, { readonly kind: 'slurmrestd' }>;

export interface Answer {
  readonly status: number;
  readonly body: Json;
  /** The request, for messages. */
  readonly asked: string;
}

/** Asks slurmrestd; the body is for the version of its interface, such as 38. Rejects with {@link WorkloadManagerError} (UNAVAILABLE) when there
 *  is no answer. */
export type AskSlurm = (method: string, path: string, body?: (version: number) => Json) => Promise<Answer>;

/** Requests to this slurmrestd. The token is read for each: it is short-lived, and the site renews it. */
export function slurmrestdRequests(manager: RestSettings, timers: Timers): AskSlurm {
  let known: number | undefined;

  async function ask(method: string, path: string, body?: Json): Promise<Answer> {
    const asked = `${method} ${path} of slurmrestd at ${manager.url}`;
    const token = await tokenOf(manager);
    const limit = new AbortController();
    const timer = timers.after(TIME_LIMIT_MS, () =>
      limit.abort(new Error(`there was no answer within ${TIME_LIMIT_MS / 1000} s`)),
    );
    try {
      const response = await fetch(`${manager.url.replace(/\/+$/, '')}${path}`, {
        method,
        headers: {
          'X-SLURM-USER-NAME': manager.user,
          'X-SLURM-USER-TOKEN': token,
          ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        redirect: 'error',
        signal: limit.signal,
      });
      return { asked, status: response.status, body: parsed(await textOf(response)) };
    } catch (error) {
      const { cause } = error as Error;
      const reason = cause === undefined ? messageOf(error) : messageOf(cause);
      throw failed(`${asked} failed: ${reason}`, error);
    } finally {
      timer.cancel();
    }
  }

  /** Asks by the version that both sides know; after an upgrade, that may be another one. */
  const askSlurm: AskSlurm = async (method, path, body) => {
    for (let isFirst = true; ; isFirst = false) {
      known ??= await newestVersion();
      const answer = await ask(method, `/slurm/v0.0.${known}${path}`, body?.(known));
      if (answer.status !== 404 || !isFirst || Object.keys(answer.body).length > 0) return answer;
      known = undefined;
    }
  };

  async function newestVersion(): Promise<number> {
    const answer = await ask('GET', '/openapi/v3');
    if (answer.status !== 200) throw unavailable(answer, manager);
    const version = versionOf(answer.body);
    if (version !== undefined) return version;
    const known = 'the hub knows the versions 0.0.38 to 0.0.43 of its interface, and it offers none of them';
    throw new WorkloadManagerError('UNAVAILABLE', `${answer.asked}: ${known}`);
  }

  return askSlurm;
}

async function tokenOf({ tokenFile }: RestSettings): Promise<string> {
  try {
    // As scontrol prints it, or the token alone.
    const token = (await readFile(tokenFile, 'utf8')).trim().replace(/^SLURM_JWT=/, '');
    if (token !== '' && !/\s/.test(token)) return token;
  } catch (error) {
    throw failed(`the token for slurmrestd cannot be read: ${messageOf(error)}`, error);
  }
  throw new WorkloadManagerError(
    'UNAVAILABLE',
    `the file ${tokenFile} must have one token for slurmrestd, as "scontrol token" prints it`,
  );
}

async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for await (const chunk of response.body ?? []) {
    sizeBytes += chunk.length;
    if (sizeBytes > MAX_ANSWER_BYTES) throw new Error(`the answer has more than ${MAX_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The answer; without members when it is not an object in JSON. */
function parsed(text: string): Json {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {}; // Faults such as 401 come as plain text; their status says it.
  }
}

function failed(message: string, cause: unknown): WorkloadManagerError {
  return new WorkloadManagerError('UNAVAILABLE', message, { cause });
}

/** Error about an answer that says nothing about what was asked. */
export function unavailable(
  { asked, status, body }: Answer,
  { user, tokenFile }: RestSettings,
): WorkloadManagerError {
  const words = errorOf(body)?.words ?? '';
  // An invalid token and a controller that is away look alike: 500, and no reason.
  const advice =
    status === 401 || words === '' || /authentication|unable to load|Failed while looking/i.test(words)
      ? `; look whether slurmctld runs, and whether ${tokenFile} has a valid token of ${user} (scontrol token username=${user})`
      : '';
  return new WorkloadManagerError(
    'UNAVAILABLE',
    `${asked} was answered with ${status}${words === '' ? '' : `: ${words}`}${advice}`,
  );
}
