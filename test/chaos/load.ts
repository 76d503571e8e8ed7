/** Clients that create small jobs, wait for their ends, and record the responses. */
import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { base64, type JobResult, outputsOf } from '../support/interface/rest-client.js';
import type { SeededRandom } from '../support/random.js';
import { RECORD_BEGIN, RECORD_END } from './runs.js';

const TASK = '/api/2.0/workbench/task';

/** Timeout of a request that a fault swallowed. */
const GIVE_UP_MS = 15_000;
const WAIT_S = 3;
const PAUSE_MS = 50;

/** A client's record of a task that was accepted with 201. */
export interface Acknowledged {
  readonly id: string;
  readonly kind: 'simulate-work' | 'execute-batch-job';
  /** Expected output of a batch job. */
  readonly expectedDigest: string | null;
  isToBeCanceled: boolean;
  /** The first end that the client saw. */
  end: Ending | undefined;
}

export interface Ending {
  readonly status: string;
  readonly batchStatus: string | null;
  readonly outputDigest: string | null;
  readonly instance: string | null;
  readonly message: string | null;
}

/** Writes bytes that follow from the number of the job, in pieces, with pauses. */
const SCRIPT = `#!/bin/sh
${RECORD_BEGIN}
piece=0
while [ "$piece" -lt "$pieces" ]; do
  printf 'job %s piece %04096d\\n' "$number" "$piece" >> out.txt || exit 1
  echo "piece $piece"
  sleep 0.02
  piece=$((piece + 1))
done
${RECORD_END}
`;

function outputDigest(number: number, pieces: number): string {
  const hash = createHash('sha256');
  for (let piece = 0; piece < pieces; piece++) {
    hash.update(`job ${number} piece ${String(piece).padStart(4096, '0')}\n`);
  }
  return hash.digest('hex');
}

export interface LoadOptions {
  /** Addresses of the hubs; each request goes to any of them. */
  readonly baseUrls: readonly string[];
  /** Access token of the user who creates the tasks. */
  readonly token: string;
  /** File in which scripts record their runs. */
  readonly ledger: string;
}

export class Load {
  readonly acknowledged: Acknowledged[] = [];
  /** Create requests with an unknown outcome. */
  unanswered = 0;
  /** Requests to create that the hub refused, by status. */
  readonly refused = new Map<number, number>();
  /** Responses that must never occur. */
  readonly violations: string[] = [];
  readonly #options: LoadOptions;
  readonly #random: SeededRandom;
  #created = 0;
  #stopping = false;
  #givenUp = false;

  constructor(options: LoadOptions, random: SeededRandom) {
    this.#options = options;
    this.#random = random;
  }

  /** Runs this number of clients, each with one task at a time, until {@link stop}; resolves when all have ended. */
  async run(clients: number): Promise<void> {
    await Promise.all(Array.from({ length: clients }, () => this.#client()));
  }

  /** Creates no more tasks, and waits for the existing ones. */
  stop(): void {
    this.#stopping = true;
  }

  /** Abandons all tasks that have not ended. */
  giveUp(): void {
    this.#stopping = true;
    this.#givenUp = true;
  }

  async #client(): Promise<void> {
    while (!this.#stopping) {
      const task = await this.#create();
      if (!task) {
        await pause(PAUSE_MS);
        continue;
      }
      this.acknowledged.push(task);
      if (this.#random.oneIn(20)) await this.#cancel(task);
      if (!(await this.#waitForEnd(task))) return;
    }
  }

  async #create(): Promise<Acknowledged | undefined> {
    const number = this.#created++;
    const isBatch = !this.#random.oneIn(4);
    const pieces = 1 + this.#random.below(12);
    const kind = isBatch ? 'execute-batch-job' : 'simulate-work';
    const body = isBatch
      ? {
          name: `job ${number}`,
          inputScripts: [{ content: base64(SCRIPT) }],
          additionalFiles: [{ filename: 'in.txt', content: base64(`input ${number}`) }],
          variablesToInject: [
            { key: 'number', value: String(number) },
            { key: 'pieces', value: String(pieces) },
            { key: 'runs', value: this.#options.ledger },
          ],
        }
      : { name: `work ${number}`, duration: this.#random.below(2) };
    const answer = await this.#call(`${TASK}/${kind}/create`, { method: 'POST', body: JSON.stringify(body) });
    if (!answer) {
      this.unanswered++;
      return undefined;
    }
    if (answer.status !== 201) {
      this.refused.set(answer.status, (this.refused.get(answer.status) ?? 0) + 1);
      if (answer.status < 500)
        this.violations.push(`create was answered with ${answer.status} ${answer.text}`);
      return undefined;
    }
    const { id } = JSON.parse(answer.text) as { id: string };
    const expectedDigest = isBatch ? outputDigest(number, pieces) : null;
    return { id, kind, expectedDigest, isToBeCanceled: false, end: undefined };
  }

  async #cancel(task: Acknowledged): Promise<void> {
    task.isToBeCanceled = true;
    await this.#call(`${TASK}/${task.id}/cancel?force=true`, { method: 'DELETE' });
  }

  /** False when the task is lost, or abandoned. */
  async #waitForEnd(task: Acknowledged): Promise<boolean> {
    while (!this.#givenUp) {
      const answer = await this.#call(`${TASK}/${task.kind}/${task.id}/result?timeout=${WAIT_S}`);
      if (answer?.status === 401 || answer?.status === 403) {
        this.violations.push(
          `the creator of task ${task.id} was answered with ${answer.status} ${answer.text}`,
        );
        return false;
      }
      if (answer?.status === 404) {
        this.violations.push(`task ${task.id} was accepted with 201 and is unknown now`);
        return false;
      }
      if (answer?.status !== 200) {
        await pause(PAUSE_MS);
        continue;
      }
      const end = endingOf(JSON.parse(answer.text) as JobResult);
      if (end === undefined) continue;
      task.end = end;
      return true;
    }
    return false;
  }

  /** Asks any hub; undefined without a response. */
  async #call(path: string, init: RequestInit = {}): Promise<{ status: number; text: string } | undefined> {
    try {
      const signal = AbortSignal.timeout(GIVE_UP_MS);
      const { token, baseUrls } = this.#options;
      const headers = { authorization: `Bearer ${token}` };
      const response = await fetch(`${this.#random.of(baseUrls)}${path}`, { ...init, headers, signal });
      return { status: response.status, text: await response.text() };
    } catch {
      return undefined;
    }
  }
}

/** Undefined while the task has not ended. */
export function endingOf(result: JobResult): Ending | undefined {
  if (result.status === 'WAITING' || result.status === 'RUNNING') return undefined;
  const output = outputsOf(result)['out.txt'];
  return {
    status: result.status,
    batchStatus: result.batchExecutionStatus ?? null,
    outputDigest: output === undefined ? null : createHash('sha256').update(output).digest('hex'),
    instance: result.executingWorkbench?.id ?? null,
    message: result.message ?? null,
  };
}
