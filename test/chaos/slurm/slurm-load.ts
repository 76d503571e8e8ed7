/** Tasks of a run on Slurm: handed in so that now many wait, now few, now none, and followed to their ends. */
import { setTimeout as pause } from 'node:timers/promises';
import { type SeededRandom, seededRandom } from '../../support/random.js';

/** A task that was answered with 201. */
export interface Submitted {
  readonly id: string;
  readonly number: number;
  readonly timeLimitS: number | null;
  readonly isLong: boolean;
}

export interface LoadOptions {
  readonly baseUrl: () => string;
  readonly seed: number;
  /** File to which each task adds a line when it ends. */
  readonly ledger: string;
  readonly stopped: AbortSignal;
}

/** Tasks that wait at a time while hosts are to reach the ends of their time, and for how long. */
const HIGH = { backlog: 24, forMs: 600_000 };
/** The same between them: so few that one allocation too many shows. */
const LOW = { backlogs: [0, 1, 3, 5], forMs: 25_000, count: 3 };
const LOOK_MS = 500;
const REQUEST_MS = 10_000;

/** Bodies of the hub's answers, as far as they are read here. */
export interface Counts {
  readonly WAITING: number;
  readonly RUNNING: number;
}

interface Wave {
  /** Tasks that wait at a time. */
  readonly backlog: number;
  readonly forMs: number;
}

/** Low waves, a high one, and so on. */
function* wavesOf(random: SeededRandom): Generator<Wave, never> {
  for (;;) {
    for (let low = 0; low < LOW.count; low++) yield { backlog: random.of(LOW.backlogs), forMs: LOW.forMs };
    yield HIGH;
  }
}

export class SlurmLoad {
  readonly submitted: Submitted[] = [];
  readonly #options: LoadOptions;

  constructor(options: LoadOptions) {
    this.#options = options;
  }

  /** Hands tasks in until `isEnough`, which is asked now and then. */
  async run(isEnough: () => boolean): Promise<void> {
    const waves = wavesOf(seededRandom(this.#options.seed));
    let { backlog, forMs } = waves.next().value;
    let untilMs = performance.now() + forMs;
    while (!isEnough() && !this.#options.stopped.aborted) {
      if (performance.now() > untilMs) {
        ({ backlog, forMs } = waves.next().value);
        untilMs = performance.now() + forMs;
      }
      const counts = await this.counts();
      for (let missing = backlog - (counts?.WAITING ?? backlog); missing > 0; missing--) await this.#submit();
      await pause(LOOK_MS);
    }
  }

  /** Numbers of tasks by status; undefined while the hub is away. */
  async counts(): Promise<Counts | undefined> {
    const body = (await this.get('/api/x/tasks?size=1')) as { counts: Counts } | undefined;
    return body?.counts;
  }

  /** Answer of the hub; undefined while it is away. */
  async get(path: string): Promise<unknown> {
    try {
      const response = await fetch(this.#options.baseUrl() + path, {
        signal: AbortSignal.timeout(REQUEST_MS),
      });
      return response.ok ? await response.json() : undefined;
    } catch {
      return undefined;
    }
  }

  /** One task in ten is long and has no time limit, so that some reach the end of their host; of the others each second has one. */
  async #submit(): Promise<void> {
    const { seed, ledger, baseUrl } = this.#options;
    const number = this.submitted.length + 1;
    // The same task again, if its answer was lost.
    const random = seededRandom(seed * 1_000_003 + number);
    const isLong = random.oneIn(10);
    const seconds = isLong ? 20 + random.below(60) : random.next() * 6;
    const timeLimitS = !isLong && random.oneIn(2) ? 30 : null;
    // A sleep that is killed before its shell must not look like an end.
    const script = `sleep ${seconds.toFixed(2)} && echo ${number} >> '${ledger}'`;
    const body = {
      name: isLong ? 'long' : 'short',
      classifiers: [],
      inputScripts: [{ content: Buffer.from(script).toString('base64') }],
      ...(timeLimitS === null ? {} : { timeLimit: timeLimitS }),
    };
    try {
      const response = await fetch(`${baseUrl()}/api/2.0/workbench/task/execute-batch-job/create`, {
        method: 'POST',
        headers: { 'Idempotency-Key': `task-${number}` },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(REQUEST_MS),
      });
      if (response.status !== 201) return;
      const { id } = (await response.json()) as { id: string };
      this.submitted.push({ id, number, timeLimitS, isLong });
    } catch {
      // The key finds the task again, if the hub has it.
    }
  }
}
