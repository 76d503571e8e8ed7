/** Use cases of studies. */
import { isDeepStrictEqual } from 'node:util';
import { POINTS_FILE } from '@workbench-hub/shared/domain/point-results';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import pLimit from 'p-limit';
import { type Caller, mayChangeTask } from '../../core/access.js';
import { HubError, invalidInput, type ValidationError } from '../../core/errors.js';
import type { PointTables } from '../../core/ports/point-tables.js';
import type { NewPart, PointQuery, Studies, StudyQuery } from '../../core/ports/studies.js';
import type { Delivery } from '../../core/ports/webhook-deliveries.js';
import { planned, type StudyPlan } from '../../core/studies/plans.js';
import {
  GROWING_STATES,
  type NewStudy,
  type OutcomeCounts,
  type PlannedPart,
  type Point,
  type PointOutcome,
  STUDY_TRANSITIONS,
  type Study,
  type StudyDefinition,
  type StudyRecord,
} from '../../core/studies/study.js';
import { checkedStudy, type StudyRules } from '../../core/studies/study-faults.js';
import { pointsOfRows, type TablePlan } from '../../core/studies/table-plan.js';
import type { ReaderSyntax } from '../../core/studies/values/value-rules.js';
import type { StudyVariable } from '../../core/studies/variables.js';
import type { NotifyAddress } from '../../core/task.js';
import { notifyAddress } from '../../core/webhook-addresses.js';
import type { Webhooks } from '../webhooks/webhooks.js';
import { taskIdOf } from './point-tasks.js';

/** Studies of a list whose points are counted at a time: each takes a connection to the database, which requests of others need. */
const COUNTED_AT_A_TIME = 4;

/** A plan as it is handed in: a table becomes a list. */
export type RequestedPlan = StudyPlan | TablePlan;

export interface StudyRequest {
  readonly name: string;
  readonly note: string | null;
  readonly creator: string | null;
  /** Address that is told of its ends and pauses, which `Tasks.notifyErrors` has checked; null for none. */
  readonly notify: string | null;
  readonly definition: StudyDefinition;
  readonly checked: CheckedPlan;
  /** Idempotency key of the request. */
  readonly key: string | undefined;
}

/** Points that are to be added. */
export interface Extension {
  readonly plan: RequestedPlan;
  /** Idempotency key of the request. */
  readonly key: string | undefined;
}

/** A study after a request with an idempotency key, or without one. */
export interface Outcome {
  readonly counted: CountedStudy;
  /** Whether an earlier request did it. */
  readonly isReplayed: boolean;
}

/** A study after points were added. */
export interface Extended extends Outcome {
  readonly added: Pick<PlannedPart, 'first' | 'count'>;
}

/** A plan without validation errors. */
export interface CheckedPlan {
  readonly plan: StudyPlan;
  readonly pointCount: number;
}

/** A study with the numbers of its points by outcome. */
export interface CountedStudy extends CountedRecord {
  readonly study: Study;
  /** Address that the study names; null for none. */
  readonly notify: NotifyAddress | null;
  /** Webhooks about its latest change of which they tell. */
  readonly deliveries: readonly Delivery[];
}

/** The same without its definition. */
export interface CountedRecord {
  readonly study: StudyRecord;
  readonly counts: OutcomeCounts;
}

export interface PointOfStudy extends Point {
  readonly taskId: string;
}

export interface StudyServiceOptions {
  readonly studies: Studies;
  readonly syntax: ReaderSyntax;
  readonly tables: PointTables;
  readonly maxPoints: number;
  /** Null for a hub that sends none. */
  readonly webhooks: Pick<Webhooks, 'ofStudy'> | null;
  readonly runtime: Pick<Runtime, 'clock' | 'newId'>;
  /** Throws SHUTDOWN_PREPARED while no tasks are accepted. */
  readonly refuseNewTasks: () => void;
  /** A study has changed. */
  readonly onChange: () => void;
}

type Change = 'pause' | 'resume' | 'stop';
type Action = Change | 'extend' | 'remove';

/** All methods that take an id reject with STUDY_NOT_FOUND. */
export class StudyService {
  readonly #options: StudyServiceOptions;

  constructor(options: StudyServiceOptions) {
    this.#options = options;
  }

  /** Throws SHUTDOWN_PREPARED while no tasks are accepted. */
  admit(): void {
    this.#options.refuseNewTasks();
  }

  /** The plan of a study, or the validation errors of all but its job; `fixed` are the names of the variables of the job. */
  checked(
    rules: StudyRules,
    requested: RequestedPlan,
    fixed: readonly string[],
  ): CheckedPlan | { readonly errors: readonly ValidationError[] } {
    const listed = this.#listed(rules.variables, requested);
    if ('errors' in listed) return listed;
    const checked = checkedStudy(rules, listed.plan, fixed, this.#options);
    return 'errors' in checked ? checked : { ...listed, ...checked };
  }

  /** Creates a study whose plan was {@link checked}, unless there is one of the creator with this key; resolves when it is durable.
   *  Rejects with SHUTDOWN_PREPARED, INVALID_INPUT and IDEMPOTENCY_KEY_REUSED. */
  async create(request: StudyRequest): Promise<Outcome> {
    const { name, note, creator, definition, checked, key } = request;
    this.admit();
    const { plan, pointCount } = checked;
    if (definition.reuse && definition.job.model?.kind === 'LOCAL_FILESYSTEM') {
      const what =
        'must not be true with a model on the file system of the host: the hub does not know its content';
      throw invalidInput([{ where: 'reuse', what }]);
    }
    if (definition.bundle && definition.job.additionalFiles.some(({ path }) => path === POINTS_FILE)) {
      const what = `must not be true with an additional file ${POINTS_FILE}: bundles write one of that name`;
      throw invalidInput([{ where: 'bundle', what }]);
    }
    const { studies, runtime, onChange } = this.#options;
    const nowMs = runtime.clock.nowMs();
    const study: Study = {
      ...{ id: runtime.newId(), name, note, creator, state: 'RUNNING', message: null, definition },
      ...{ createdAtMs: nowMs, runningSinceMs: nowMs, endedAtMs: null },
      ...{ pointCount, begunCount: 0, retryCount: 0, isOpen: plan.kind === 'OPEN' },
    };
    const notify = request.notify === null ? null : notifyAddress(request.notify);
    const created: NewStudy = { ...study, plan, notify, key: key ?? null };
    if (!(await studies.create(created))) return { counted: await this.#repeated(created), isReplayed: true };
    onChange();
    return { counted: { study, counts: {}, notify, deliveries: [] }, isReplayed: false };
  }

  /** The study that an earlier request has created. Rejects with IDEMPOTENCY_KEY_REUSED when that was another request. */
  async #repeated(study: NewStudy): Promise<CountedStudy> {
    const { studies } = this.#options;
    const id = await studies.idByKey(study.creator, study.key ?? '');
    if (id === undefined) throw keyReused('the study that was created with this key has just been deleted');
    const earlier = await this.get(id);
    const plan = (await studies.partWith(id, 1))?.plan ?? study.plan;
    const before = contentOf({ ...earlier.study, plan, notify: earlier.notify });
    if (isDeepStrictEqual(before, contentOf(study))) return earlier;
    throw keyReused(`study ${id} was created with this key by another request`);
  }

  async get(id: string): Promise<CountedStudy> {
    const { studies, webhooks } = this.#options;
    const study = await this.#find(id);
    const told = (await webhooks?.ofStudy(id)) ?? { notify: null, deliveries: [] };
    return { study, counts: await studies.counts(id), ...told };
  }

  /** Rejects as all do when there is no such study. */
  async check(id: string): Promise<void> {
    if (!(await this.#options.studies.record(id))) throw notFound(id);
  }

  /** Studies, newest first, and the place after them; null when there are no more. */
  async list(query: StudyQuery): Promise<{ found: CountedRecord[]; next: string | null }> {
    const { studies } = this.#options;
    const { studies: shown, next } = await studies.list(query);
    const inTurn = pLimit(COUNTED_AT_A_TIME);
    const counts = await inTurn.map(shown, ({ id }) => studies.counts(id));
    return { found: shown.map((study, index) => ({ study, counts: counts[index] ?? {} })), next };
  }

  /** Points that have begun, by number. */
  async points(id: string, query: PointQuery): Promise<{ study: Study; points: PointOfStudy[] }> {
    const study = await this.#find(id);
    const points = await this.#options.studies.points(id, query);
    return {
      study,
      points: points.map((point) => ({ ...point, taskId: point.end?.source ?? taskIdOf(study, point) })),
    };
  }

  /** Adds points, unless a request with this key has done so. Rejects with FORBIDDEN, INVALID_INPUT, STUDY_NOT_CHANGEABLE and
   *  IDEMPOTENCY_KEY_REUSED. */
  async extend(id: string, { plan: requested, key }: Extension, caller: Caller): Promise<Extended> {
    this.admit();
    const study = await this.#own(id, caller);
    const part = { ...this.#furtherPart(study, requested), key: key ?? null };
    const repeated = (await this.#added(id, part)) ?? (await this.#addedNow(study, part));
    if (repeated) return { counted: await this.get(id), added: repeated, isReplayed: true };
    this.#options.onChange();
    return { counted: await this.get(id), added: part, isReplayed: false };
  }

  /** Adds the points; resolves with those of an earlier request with the same key, if that was quicker. */
  async #addedNow(study: Study, part: NewPart): Promise<PlannedPart | undefined> {
    const { studies, maxPoints, runtime } = this.#options;
    const { id, pointCount } = study;
    if (pointCount + part.count > maxPoints) {
      const what = `gives ${part.count} points, and the study has ${pointCount} already; at most ${maxPoints} are allowed (studies.maxPoints)`;
      throw invalidInput([{ where: 'plan', what }]);
    }
    if (await studies.extend(id, part, runtime.clock.nowMs())) return undefined;
    const earlier = await this.#added(id, part);
    if (!earlier) throw await this.#refused(id, 'extend');
    return earlier;
  }

  /** The further points. Throws INVALID_INPUT. */
  #furtherPart(study: Study, requested: RequestedPlan): PlannedPart {
    const { maxPoints } = this.#options;
    const listed = this.#listed(study.definition.variables, requested);
    if ('errors' in listed) throw invalidInput(listed.errors);
    const { plan } = listed;
    const result = planned(study.definition.variables, plan, maxPoints);
    if ('errors' in result) throw invalidInput(result.errors);
    const { count } = result.points;
    if (count === 0) throw invalidInput([{ where: 'plan', what: 'must give at least one point' }]);
    return { first: study.pointCount + 1, count, plan };
  }

  /** The points that an earlier request with the same key has added. Rejects with IDEMPOTENCY_KEY_REUSED when they are others. */
  async #added(id: string, { key, plan }: NewPart): Promise<PlannedPart | undefined> {
    const earlier = key === null ? undefined : await this.#options.studies.partByKey(id, key);
    if (!earlier) return undefined;
    if (isDeepStrictEqual(asStored(earlier.plan), asStored(plan))) return earlier;
    throw keyReused(`other points were added to study ${id} with this key`);
  }

  /** Pauses, resumes or stops a study. Rejects with FORBIDDEN and STUDY_NOT_CHANGEABLE. */
  async change(id: string, change: Change, caller: Caller): Promise<CountedStudy> {
    await this.#own(id, caller);
    const { studies, runtime, onChange } = this.#options;
    const { from, to } = STUDY_TRANSITIONS[change];
    const why = { atMs: runtime.clock.nowMs(), message: null };
    if (!(await studies.setState(id, from, to[0], why))) {
      throw await this.#refused(id, change);
    }
    onChange();
    return this.get(id);
  }

  /** Tries points with these outcomes again, those of a study that does not run when it is resumed; resolves with their number.
   *  Rejects with FORBIDDEN. */
  async retry(id: string, outcomes: readonly PointOutcome[], caller: Caller): Promise<number> {
    this.admit();
    await this.#own(id, caller);
    const { studies, runtime, onChange } = this.#options;
    // Also after a failure: some points may be due.
    return studies.retry(id, outcomes, runtime.clock.nowMs()).finally(onChange);
  }

  /** Removes a study with its points; their tasks stay. Rejects with FORBIDDEN and STUDY_NOT_CHANGEABLE. */
  async remove(id: string, caller: Caller): Promise<void> {
    await this.#own(id, caller);
    if (!(await this.#options.studies.remove(id))) throw await this.#refused(id, 'remove');
  }

  /** The plan, a table as the list of its points. */
  #listed(
    variables: readonly StudyVariable[],
    plan: RequestedPlan,
  ): { readonly plan: StudyPlan } | { readonly errors: readonly ValidationError[] } {
    if (plan.kind !== 'TABLE') return { plan };
    const read = this.#options.tables.readRows(plan.csv, plan.delimiter);
    if ('fault' in read) return { errors: [{ where: 'plan.csv', what: read.fault }] };
    return pointsOfRows(variables, read.rows, plan.decimal);
  }

  async #find(id: string): Promise<Study> {
    const study = await this.#options.studies.find(id);
    if (study) return study;
    throw notFound(id);
  }

  async #own(id: string, caller: Caller): Promise<Study> {
    const study = await this.#find(id);
    if (mayChangeTask(caller, study)) return study;
    throw new HubError(
      'FORBIDDEN',
      `study ${id} is not yours: only its creator and the role ADMIN may do this`,
    );
  }

  async #refused(id: string, action: Action): Promise<HubError> {
    const { state } = await this.#find(id);
    const from = action === 'extend' ? GROWING_STATES : STUDY_TRANSITIONS[action].from;
    const isState = (from as readonly string[]).includes(state);
    const why = isState
      ? 'it has just changed, or has points whose tasks have not ended; try again'
      : REASONS[action];
    return new HubError('STUDY_NOT_CHANGEABLE', `study ${id} is ${state}: ${why}`);
  }
}

/** Part of a study by which a repeated request is recognized. */
function contentOf({ name, note, isOpen, definition, plan, notify }: Omit<NewStudy, 'key'>): unknown {
  const content = { name, note, isOpen, definition, notify: notify?.url };
  return asStored(isOpen ? content : { ...content, plan });
}

/** Value as it is after it was stored as JSON. */
function asStored(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}

function keyReused(what: string): HubError {
  return new HubError(
    'IDEMPOTENCY_KEY_REUSED',
    `Idempotency-Key: ${what}; take a new key for each request, and the same one only to repeat it`,
  );
}

function notFound(id: string): HubError {
  return new HubError('STUDY_NOT_FOUND', `there is no study with the id ${JSON.stringify(id)}`);
}

const REASONS: Readonly<Record<Action, string>> = {
  pause: 'only one that is RUNNING can be paused',
  resume: 'only one that is PAUSED or STOPPED can be resumed',
  stop: 'only one that is RUNNING or PAUSED can be stopped',
  extend: 'points can be added to one that is RUNNING, PAUSED or FINISHED; resume it first',
  remove: 'only one that is STOPPED or FINISHED can be deleted; stop it first',
};
