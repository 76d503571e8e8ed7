/** Pauses and stops of studies by themselves. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Clock } from '@workbench-hub/shared/runtime/runtime';
import { SteadyTimes } from '@workbench-hub/shared/runtime/steady-times';
import type { ActiveStudy, EndedPoint, Studies } from '../../core/ports/studies.js';
import {
  stopAfterFailures,
  stopAfterMs,
  stopAfterTime,
  stopWhenReached,
} from '../../core/studies/stop-rules.js';
import { STUDY_TRANSITIONS, type Study } from '../../core/studies/study.js';
import { REUSED_AT_A_TIME } from './next-points.js';
import type { PlannedStudy } from './planned-study.js';

export interface StudyHaltsOptions {
  readonly studies: Pick<Studies, 'failedSinceResume' | 'points' | 'setState'>;
  readonly runtime: { readonly clock: Clock };
  readonly log: Logger;
}

/** Each method that stops or pauses resolves with whether the study has changed its state by it, and rejects as the store does. */
export class StudyHalts {
  readonly #options: StudyHaltsOptions;
  readonly #times: SteadyTimes;

  constructor(options: StudyHaltsOptions) {
    this.#options = options;
    this.#times = new SteadyTimes(options.runtime.clock);
  }

  /** Forgets all other studies. */
  keep(ids: ReadonlySet<string>): void {
    this.#times.keep(ids);
  }

  /** Time until a study stops by its rule on time, 0 at least; infinite if it does not. */
  stopsInMs({ definition, id }: Study, { state, runningSinceMs }: ActiveStudy): number {
    if (state !== 'RUNNING') return Number.POSITIVE_INFINITY;
    return Math.max(0, stopAfterMs(definition) - this.#times.sinceMs(id, 'start', runningSinceMs));
  }

  /** Stops a study as the hub before should have, which was ended after it had written the ends of points. */
  async stopAsBefore(study: Study, record: ActiveStudy): Promise<boolean> {
    if (record.state !== 'RUNNING') return false;
    const { reuse, stopWhen } = study.definition;
    if (reuse && stopWhen.length > 0) {
      const after = Math.max(0, record.begunCount - REUSED_AT_A_TIME);
      const query = { after, limit: REUSED_AT_A_TIME, outcomes: ['REUSED'] } as const;
      const reused = await this.#options.studies.points(study.id, query);
      const ended = reused.flatMap(({ number, end }) => (end ? [{ number, ...end }] : []));
      const isNew = ({ endedAtMs }: { endedAtMs: number }) => endedAtMs >= record.runningSinceMs;
      if (await this.stopByValues(study, ended.filter(isNew))) return true;
    }
    return this.stopByFailures(study, record);
  }

  /** Stops a study one of whose points has reached the values of its rule. */
  async stopByValues(
    study: Study,
    ended: readonly Pick<EndedPoint, 'number' | 'outcome' | 'values'>[],
  ): Promise<boolean> {
    return this.#stop(study, stopWhenReached(study.definition, ended));
  }

  /** Stops a study of which as many points have failed as its rule says. */
  async stopByFailures(study: Study, { runningSinceMs }: ActiveStudy): Promise<boolean> {
    if (study.definition.stopAfterFailures === null) return false;
    const failed = await this.#options.studies.failedSinceResume(study.id);
    return this.#stop(study, stopAfterFailures(study.definition, failed), runningSinceMs);
  }

  /** Stops a study that has run for as long as its rule says. */
  async stopByTime(study: Study, record: ActiveStudy): Promise<boolean> {
    if (this.stopsInMs(study, record) > 0) return false;
    return this.#stop(study, stopAfterTime(study.definition), record.runningSinceMs);
  }

  /** Stops a study, unless it was resumed after `runningSinceMs`. */
  async #stop(
    { id }: Pick<Study, 'id'>,
    message: string | undefined,
    runningSinceMs?: number,
  ): Promise<boolean> {
    if (message === undefined) return false;
    const { studies, runtime, log } = this.#options;
    const { from } = STUDY_TRANSITIONS.stop;
    const change = { atMs: runtime.clock.nowMs(), runningSinceMs, message };
    const isStopped = await studies.setState(id, from, 'STOPPED', change);
    if (isStopped) log.info({ studyId: id, reason: message }, 'a study was stopped by its rule');
    return isStopped;
  }

  /** Pauses a study whose first results lack a value: its rule probably matches nothing, and thousands of points would follow. */
  async pauseByResults(
    planned: PlannedStudy,
    ended: readonly Pick<EndedPoint, 'values'>[],
  ): Promise<boolean> {
    const results = ended.filter(({ values }) => values.length > 0);
    if (planned.hasResults || results.length === 0) return false;
    const { id, definition } = planned.study;
    const faults = definition.values.flatMap(({ name }, index) => {
      const reads = results.map(({ values }) => values[index]);
      const [first] = reads;
      return first?.kind === 'MISSING' && reads.every((read) => read?.kind === 'MISSING')
        ? [`${name} is missing: ${first.reason}`]
        : [];
    });
    if (faults.length === 0) {
      planned.hasResults = true;
      return false;
    }
    const message = `paused by itself at its first results, ${faults.join('; ')}; resume it to go on nevertheless`;
    const { studies, runtime, log } = this.#options;
    const { from } = STUDY_TRANSITIONS.pause;
    const change = { atMs: runtime.clock.nowMs(), message };
    const isPaused = await studies.setState(id, from, 'PAUSED', change);
    planned.hasResults = true;
    if (isPaused) log.info({ studyId: id, faults }, 'a study was paused: its first results lack values');
    return isPaused;
  }
}
