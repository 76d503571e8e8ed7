import { type Connection, pause } from './connection.js';
import type {
  NewStudy,
  RetriedStudyPoints,
  Study as StudyDetails,
  StudyItem,
  StudyList,
  StudyPoint,
  StudyPointList,
} from './generated/types.gen.js';
import { repeatable } from './idempotency-key.js';
import type { Job } from './job.js';
import { overOutages } from './outages.js';

export type PointOutcome = NonNullable<StudyPoint['outcome']>;

/** A batch job with open variables, and the plan of their values. */
export interface StudyJob
  extends Job,
    Pick<
      NewStudy,
      'plan' | 'values' | 'success' | 'stopAfterFailures' | 'stopAfter' | 'stopWhen' | 'reuse' | 'bundle'
    > {
  readonly name: string;
  /** Variables that differ from point to point; `variables` are the same for all. */
  readonly vary: NewStudy['variables'];
  /** Address that gets a webhook when the study finishes, is stopped, or pauses by itself, if the hub allows it. */
  readonly notify?: string;
}

export interface WatchOptions {
  /** Ends the waiting, not the study. */
  readonly signal?: AbortSignal | undefined;
  /** Called with the study whenever it has changed. */
  readonly onChange?: (study: StudyDetails) => void;
}

/** Delay between two looks at a study; each doubles up to the longest. */
const FIRST_LOOK_MS = 250;
const LONGEST_LOOK_MS = 2000;

const POINTS_OF_A_REQUEST = 5000;

/** A study of the hub. */
export class Study {
  readonly id: string;
  readonly #connection: Connection;

  constructor(connection: Connection, id: string) {
    this.#connection = connection;
    this.id = id;
  }

  /** State, definition, and the number of points by outcome. */
  details(signal?: AbortSignal): Promise<StudyDetails> {
    return this.#connection.json(this.#path(), { signal });
  }

  /** Waits until the study runs no more: it is finished, stopped or paused, and no task of it is left. After the first answer, also over
   *  restarts of the hub. */
  async wait({ signal, onChange }: WatchOptions = {}): Promise<StudyDetails> {
    let told = '';
    let study = await this.details(signal);
    for (let delayMs = FIRST_LOOK_MS; ; delayMs = Math.min(2 * delayMs, LONGEST_LOOK_MS)) {
      const text = JSON.stringify(study);
      if (text !== told) onChange?.(study);
      if (text !== told) delayMs = FIRST_LOOK_MS;
      told = text;
      if (study.state !== 'RUNNING' && study.points.open === 0) return study;
      await pause(delayMs, signal);
      study = await overOutages(this.#connection, () => this.details(signal), signal);
    }
  }

  /** Yields the points that have begun, by number. */
  async *points(
    { outcomes = [] }: { readonly outcomes?: readonly (PointOutcome | 'OPEN')[] } = {},
    signal?: AbortSignal,
  ): AsyncGenerator<StudyPoint> {
    const outcome = outcomes.length === 0 ? {} : { outcome: outcomes.join(',') };
    for (let after: number | undefined = 0; after !== undefined; ) {
      const query = { after, limit: POINTS_OF_A_REQUEST, ...outcome };
      const page: StudyPointList = await this.#connection.json(`${this.#path()}/points`, { query, signal });
      yield* page.points;
      after = page.next;
    }
  }

  /** Adds points. When the response is lost, the request is repeated on a hub that takes an Idempotency-Key. */
  add(plan: Exclude<NewStudy['plan'], { kind: 'OPEN' }>): Promise<StudyDetails> {
    const options = repeatable(this.#connection, '/api/x/studies/{id}/points');
    return this.#connection.json(`${this.#path()}/points`, { ...options, json: { plan } });
  }

  /** Begins no further points. */
  pause(): Promise<StudyDetails> {
    return this.#change('pause');
  }

  /** Goes on after a pause or a stop. */
  resume(): Promise<StudyDetails> {
    return this.#change('resume');
  }

  /** Cancels the tasks of the study, and begins no further points. */
  stop(): Promise<StudyDetails> {
    return this.#change('stop');
  }

  /** Tries the points with these outcomes again; resolves with their number. */
  async retry(outcomes: readonly PointOutcome[]): Promise<number> {
    const options = { method: 'POST', json: { outcomes } };
    return (await this.#connection.json<RetriedStudyPoints>(`${this.#path()}/retry`, options)).retried;
  }

  /** Deletes a study that is stopped or finished; its tasks stay. */
  async delete(): Promise<void> {
    await this.#connection.text(this.#path(), { method: 'DELETE' });
  }

  #change(what: 'pause' | 'resume' | 'stop'): Promise<StudyDetails> {
    return this.#connection.json(`${this.#path()}/${what}`, { method: 'POST' });
  }

  #path(): string {
    return `/api/x/studies/${encodeURIComponent(this.id)}`;
  }
}

/** Yields the studies with this name, or all, newest first. */
export async function* studiesOf(
  connection: Connection,
  name: string | undefined,
  signal?: AbortSignal,
): AsyncGenerator<StudyItem> {
  const named = name === undefined ? {} : { name };
  for (let place: { after?: string } | undefined = {}; place !== undefined; ) {
    const query = { limit: 100, ...named, ...place };
    const page: StudyList = await connection.json('/api/x/studies', { query, signal });
    yield* page.studies;
    place = page.next === undefined ? undefined : { after: page.next };
  }
}
