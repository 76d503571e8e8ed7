/**
 * The driver of studies: the hub with the role of the scheduler makes points tasks, a few at a time, and gives each its outcome when its
 * task has ended. All that it knows is in the store: the points that have begun, and tasks whose ids follow from them. Every step may be
 * repeated, so a new term goes on where the last one was.
 */
import type { Requirement } from '@workbench-hub/shared/domain/classifier';
import { MAX_BUNDLED_POINTS } from '@workbench-hub/shared/domain/point-results';
import { hasEnded } from '@workbench-hub/shared/domain/task';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import { Loop } from '@workbench-hub/shared/runtime/loop';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { StudyMetrics } from '../../core/ports/metrics.js';
import type { SignalListener } from '../../core/ports/signals.js';
import type { ActiveStudy, EndedPoint, OpenPoint, Studies } from '../../core/ports/studies.js';
import type { TaskQueue } from '../../core/ports/task-queue.js';
import type { Study } from '../../core/studies/study.js';
import { textOf } from '../../core/studies/variables.js';
import type { Task } from '../../core/task.js';
import type { TaskTransitions } from '../transitions/task-transitions.js';
import { NextPoints, type NextPointsOptions } from './next-points.js';
import { PlannedStudy } from './planned-study.js';
import { endsOf } from './point-ends.js';
import { bundled, groupsOf, type PointGroup, requirementOf, taskOf } from './point-tasks.js';
import { StudyHalts } from './study-halts.js';

export interface StudyDriverOptions extends NextPointsOptions {
  readonly studies: Studies;
  readonly queue: Pick<TaskQueue, 'waiting'>;
  readonly transitions: Pick<TaskTransitions, 'createOnce' | 'cancel'>;
  /** Number of instances that are up and fit. */
  readonly instancesUp: (requirement: Requirement) => number;
  /** Whether no tasks are accepted. */
  readonly isPaused: () => boolean;
  readonly settings: StudySettings;
  readonly runtime: Pick<Runtime, 'clock' | 'timers'>;
  readonly metrics: StudyMetrics;
  readonly log: Logger;
}

export interface StudySettings {
  /** Points that a study may have. */
  readonly maxPoints: number;
  /** Points of a study that wait or run as tasks at a time. */
  readonly openPoints: number;
  /** Time that the points of a bundle take together. */
  readonly bundleMs: number;
  /** Time after which a change by another hub is seen; null for a hub that has its store alone. */
  readonly pollMs: number | null;
}

/** Time after which all tasks are looked at, since signals may be lost. */
const CHECK_MS = 10_000;
const RETRY_MS = 5000;
/** Time after which a pass follows the start or the end of a task while others run: a pass for several costs as much as one for one. */
const GATHERING_MS = 20;
/** Points that are settled at the same time: the outputs from which their values are read are in memory. */
const SETTLED_AT_A_TIME = 8;
/** Time after which a pass goes on with the next study, so that one does not hold up the others. */
const SETTLING_MS = 250;
/** Points that begin before the first of them has its values. */
const FIRST_POINTS = 20;
/** Points of a study that may wait in the queue though none runs. */
const MIN_WAITING = 4;
/** Work that may wait in the queue, as time at the pace of the study: short for the tasks behind it, and several points for one pass. */
const WAITING_MS = 250;
/** Points that may wait by the pace for each that runs: the next ones may take longer than the last. */
const MOST_WAITING_OF_ONE = 4;
const STOPPED_MESSAGE = 'the study was stopped before the point began';
const DELETED_MESSAGE = 'its task was deleted';

export class StudyDriver {
  readonly #options: StudyDriverOptions;
  readonly #nextPoints: NextPoints;
  readonly #halts: StudyHalts;
  readonly #loop: Loop;
  readonly #studies = new Map<string, PlannedStudy>();
  /** Tasks that are known to exist and not known to have ended. */
  readonly #running = new Set<string>();
  /** Ends the waiting for values that are being read. */
  readonly #reading = new Set<() => void>();
  /** Time of the last look at all tasks. */
  #checkedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: StudyDriverOptions) {
    this.#options = options;
    this.#nextPoints = new NextPoints(options);
    this.#halts = new StudyHalts(options);
    this.#loop = new Loop({
      timers: options.runtime.timers,
      pass: () => this.#pass(),
      failed: (error) => {
        options.log.error({ err: error }, 'the studies could not be read; the hub tries again');
        return RETRY_MS;
      },
      isStopped: true,
    });
  }

  /** Begins a term. */
  start(): void {
    this.#checkedAtMs = Number.NEGATIVE_INFINITY;
    this.#loop.start();
  }

  /** Ends the term; does not wait for values that are being read. */
  async stop(): Promise<void> {
    const stopped = this.#loop.stop();
    for (const giveUp of this.#reading) giveUp();
    await stopped;
    this.#studies.clear();
    this.#running.clear();
  }

  /** A study has changed. */
  readonly wake = (): void => {
    if (!this.#loop.isStopped) this.#loop.wakeSoon();
  };

  readonly onSignal: SignalListener = {
    ENDED: ({ taskId }) => {
      if (!this.#running.delete(taskId)) return;
      if (this.#running.size > 0) this.#wakeForSeveral();
      else this.wake();
    },
    ASSIGNED: ({ claimed }) => this.#begun(claimed.ref.taskId),
    OCCUPIED: ({ ref }) => this.#begun(ref.taskId),
    RESYNC: () => {
      this.#checkedAtMs = Number.NEGATIVE_INFINITY;
      this.wake();
    },
  };

  /** A task runs that may be one of a point: another one may wait in its place. */
  #begun(taskId: string): void {
    if (this.#running.has(taskId)) this.#wakeForSeveral();
  }

  #wakeForSeveral(): void {
    if (!this.#loop.isStopped) this.#loop.wake(GATHERING_MS);
  }

  async #pass(): Promise<number | undefined> {
    const { studies, runtime, settings } = this.#options;
    const nowMs = runtime.clock.monotonicMs();
    if (nowMs - this.#checkedAtMs >= CHECK_MS) {
      this.#running.clear();
      this.#checkedAtMs = nowMs;
    }
    const active = await studies.active();
    const ids = new Set(active.map(({ id }) => id));
    for (const id of this.#studies.keys()) if (!ids.has(id)) this.#studies.delete(id);
    this.#halts.keep(ids);
    let hasFailed = false;
    for (const study of active) {
      if (this.#loop.isStopped) return undefined;
      if (!(await this.#tried(study))) hasFailed = true;
    }
    if (hasFailed) return RETRY_MS;
    const nextCheckMs = active.length > 0 ? CHECK_MS : Number.POSITIVE_INFINITY;
    const nextMs = Math.min(settings.pollMs ?? nextCheckMs, this.#nextStopMs(active));
    return nextMs === Number.POSITIVE_INFINITY ? undefined : nextMs;
  }

  /** Time until the first of these studies stops by its rule on time; infinite if none does. */
  #nextStopMs(active: readonly ActiveStudy[]): number {
    const left = active.map((record) => {
      const planned = this.#studies.get(record.id);
      return planned ? this.#halts.stopsInMs(planned.study, record) : Number.POSITIVE_INFINITY;
    });
    return Math.min(...left);
  }

  /** Advances one study; false when that fails, which must not keep the others from going on. */
  async #tried(study: ActiveStudy): Promise<boolean> {
    try {
      await this.#advance(study);
      return true;
    } catch (error) {
      const { id: studyId } = study;
      if (this.#loop.isStopped) return true;
      this.#options.log.error({ err: error, studyId }, 'a study could not be driven; the hub tries again');
      return false;
    }
  }

  async #advance(record: ActiveStudy): Promise<void> {
    const { studies, runtime } = this.#options;
    const planned = await this.#planned(record);
    if (!planned) return;
    if (await this.#halts.stopByTime(planned.study, record)) return this.wake();
    const before = await this.#openGroups(record.id);
    const { ended, needsAnother } = await this.#settle(planned, record, before);
    if (needsAnother) this.wake();
    if (needsAnother || record.state !== 'RUNNING') return;
    const open = before.filter((group) => !ended.has(group));
    const hasBegun = await this.#beginMore(planned, record, open);
    const isAtEnd = open.length === 0 && !hasBegun && record.begunCount === record.pointCount;
    if (isAtEnd && !record.isOpen) await studies.finish(record.id, record.retryCount, runtime.clock.nowMs());
  }

  /** The open points by their tasks; of very many the first, and of a bundle always all. */
  async #openGroups(id: string): Promise<readonly PointGroup[]> {
    const { studies, settings } = this.#options;
    const limit = settings.openPoints + MAX_BUNDLED_POINTS;
    const points = await studies.open(id, limit);
    const groups = groupsOf(points);
    // More are open only when fewer may be than before.
    return points.length < limit ? groups : groups.slice(0, -1);
  }

  /** Begins as many points as may join the queue: first those to be tried again. Resolves with whether there were any. */
  async #beginMore(
    planned: PlannedStudy,
    record: ActiveStudy,
    open: readonly PointGroup[],
  ): Promise<boolean> {
    const { studies, settings, isPaused } = this.#options;
    const { id, begunCount, pointCount, retryCount } = record;
    if (begunCount === pointCount) planned.rests(this.#options.runtime.clock.monotonicMs());
    const size = this.#bundleSize(planned);
    const tasks = await this.#roomInQueue(planned, open, size);
    const room = Math.min(settings.openPoints - open.flat().length, tasks);
    const due = retryCount > 0 ? await studies.due(id, Math.max(room, 1)) : [];
    if (room <= 0 || isPaused()) return due.length > 0 || begunCount < pointCount;
    if (due.length > 0) {
      const numbers = due.map(({ number }) => number);
      if (await studies.beginAgain(id, numbers)) await this.#createAll(planned.study, due);
      return true;
    }
    // If all of the first have failed, more will tell no sooner.
    if (begunCount >= FIRST_POINTS && open.length === 0) planned.hasResults = true;
    const roomOfBundles = Math.min(settings.openPoints - open.flat().length, tasks * size);
    const most = planned.hasResults ? roomOfBundles : Math.max(0, Math.min(room, FIRST_POINTS - begunCount));
    if (begunCount < pointCount && this.#knowsEarlier(planned))
      await this.#begin(planned, record, { most, size: planned.hasResults ? size : 1 });
    return begunCount < pointCount;
  }

  /** Points of the next bundles; 1 for points with tasks of their own, as also while most instances that fit run no bundles. As many points
   *  may be open as three bundles have for each instance. */
  #bundleSize(planned: PlannedStudy): number {
    const { runtime, settings, defaultVersion, instancesUp } = this.#options;
    const size = planned.bundleSize(settings.bundleMs, runtime.clock.nowMs());
    if (size === 1) return 1;
    const requirement = requirementOf(planned.study, defaultVersion);
    const able = instancesUp({ ...requirement, points: true });
    if (able === 0 || 2 * able < instancesUp(requirement)) return 1;
    return Math.max(1, Math.min(size, Math.floor(settings.openPoints / (3 * able))));
  }

  /** Tasks that may join the queue, each of so many points: as many wait as run, or a few, or some work at the pace of the study, so that
   *  the tasks of others do not wait behind a whole study. None while more than half of these wait, so that several begin at a time. */
  async #roomInQueue(planned: PlannedStudy, open: readonly PointGroup[], size: number): Promise<number> {
    const { queue, runtime } = this.#options;
    const ids = open.map((group) => planned.taskIdOf(group));
    const waiting = ids.length === 0 ? 0 : (await queue.waiting(ids)).length;
    const running = open.length - waiting;
    const work = Math.floor(planned.pace.endsIn(WAITING_MS, runtime.clock.nowMs()) / size);
    const mayWait = Math.max(MIN_WAITING, running, Math.min(work, MOST_WAITING_OF_ONE * running));
    return 2 * waiting > mayWait ? 0 : mayWait - waiting;
  }

  async #planned(record: ActiveStudy): Promise<PlannedStudy | undefined> {
    const { studies } = this.#options;
    const known = this.#studies.get(record.id);
    if (known) return known;
    const study = await studies.find(record.id);
    if (!study) return undefined;
    const { FINISHED = 0, RULE_FAILED = 0, REUSED = 0 } = await studies.counts(record.id);
    const planned = new PlannedStudy(study, studies);
    planned.hasResults = study.definition.values.length === 0 || FINISHED + RULE_FAILED + REUSED > 0;
    this.#studies.set(record.id, planned);
    if (!(await this.#halts.stopAsBefore(study, record))) return planned;
    this.wake();
    return undefined;
  }

  /** Looks after the open points whose tasks are not known to run, for a short time, so that one study does not hold up the others.
   *  `needsAnother` tells that another pass is needed: for other points, or because the study has changed its state. */
  async #settle(
    planned: PlannedStudy,
    record: ActiveStudy,
    open: readonly PointGroup[],
  ): Promise<{ readonly ended: ReadonlySet<PointGroup>; readonly needsAnother: boolean }> {
    const { clock } = this.#options.runtime;
    const untilMs = clock.monotonicMs() + SETTLING_MS;
    const doubtful = open.filter(
      (group) => record.state === 'STOPPED' || !this.#running.has(planned.taskIdOf(group)),
    );
    const ended = new Set<PointGroup>();
    for (let at = 0; at < doubtful.length; at += SETTLED_AT_A_TIME) {
      const next = at + SETTLED_AT_A_TIME;
      const settled = await this.#settleSome(planned, record, doubtful.slice(at, next));
      for (const group of settled.ended) ended.add(group);
      if (settled.needsAnother) return { ended, needsAnother: true };
      if (ended.size > 0 && clock.monotonicMs() >= untilMs)
        return { ended, needsAnother: next < doubtful.length };
    }
    return { ended, needsAnother: false };
  }

  /** Settles the points of these tasks; tells which tasks have ended, and whether the study has changed its state by that, or has points
   *  that were given back. */
  async #settleSome(
    planned: PlannedStudy,
    record: ActiveStudy,
    groups: readonly PointGroup[],
  ): Promise<{ readonly ended: readonly PointGroup[]; readonly needsAnother: boolean }> {
    const { study } = planned;
    const tries = await Promise.allSettled(groups.map((group) => this.#settleOne(planned, record, group)));
    const settled = tries.flatMap((each) => (each.status === 'fulfilled' && each.value ? [each.value] : []));
    const ended = settled.flatMap(({ ends }) => ends);
    let needsAnother = false;
    if (ended.length > 0) {
      // First, so that a hub that is killed in between does not forget it.
      if (await this.#halts.pauseByResults(planned, ended)) needsAnother = true;
      if (await this.#halts.stopByValues(study, ended)) needsAnother = true;
      const isEnded = await this.#options.studies.end(study.id, ended);
      this.#count(ended.filter((_, index) => isEnded[index]));
      if (await this.#halts.stopByFailures(study, record)) needsAnother = true;
      planned.ended(ended, this.#options.runtime.clock.nowMs());
    }
    for (const { group, ends } of settled) {
      for (const end of ends) this.#remember(planned, group, end);
      planned.endedTask(group);
      if (await this.#gaveBack(planned, group, ends)) needsAnother = true;
    }
    const failed = tries.find((each) => each.status === 'rejected');
    if (failed) throw failed.reason;
    return { ended: settled.map(({ group }) => group), needsAnother };
  }

  /** Lets the points of a bundle that were not run have tasks of their own; true if there are any. */
  async #gaveBack(planned: PlannedStudy, group: PointGroup, ends: readonly EndedPoint[]): Promise<boolean> {
    const [{ bundle }] = group;
    if (bundle === null) return false;
    const gaveBack = ends.length < group.length;
    planned.endedBundle(gaveBack);
    if (!gaveBack) return false;
    await this.#options.studies.unbundle(planned.study.id, bundle);
    return true;
  }

  /** The points of a task with their ends, if it has ended. */
  async #settleOne(
    planned: PlannedStudy,
    record: ActiveStudy,
    group: PointGroup,
  ): Promise<SettledGroup | undefined> {
    const { archive, transitions, isPaused } = this.#options;
    const { study } = planned;
    const taskId = planned.taskIdOf(group);
    const task = await archive.find(taskId);
    if (task && hasEnded(task.status)) return this.#endOf(study, group, task);
    if (record.state === 'STOPPED') {
      if (!task) return this.#canceled(group, STOPPED_MESSAGE);
      await transitions.cancel(task, true);
      this.wake();
      return undefined;
    }
    if (task) {
      this.#running.add(taskId);
      return this.#overtaken(study, group, taskId);
    }
    // The points of a paused study that have begun go on.
    if (isPaused()) return undefined;
    await this.#create(study, group);
    // The task may have been created, ended and deleted before.
    return (await archive.find(taskId)) ? undefined : this.#canceled(group, DELETED_MESSAGE);
  }

  /** The end of points whose task ended between the look at it and the note that it runs. */
  async #overtaken(study: Study, group: PointGroup, taskId: string): Promise<SettledGroup | undefined> {
    const latest = await this.#options.archive.find(taskId);
    if (latest && !hasEnded(latest.status)) return undefined;
    this.#running.delete(taskId);
    return latest ? this.#endOf(study, group, latest) : this.#canceled(group, DELETED_MESSAGE);
  }

  async #endOf(study: Study, group: PointGroup, task: Task): Promise<SettledGroup> {
    return { group, ends: await this.#unlessStopped(endsOf(study, group, task, this.#options)) };
  }

  /** Rejects at the end of the term, without waiting any longer. */
  async #unlessStopped<T>(work: Promise<T>): Promise<T> {
    let giveUp: () => void = () => undefined;
    const stopped = new Promise<never>((_, reject) => {
      giveUp = () => reject(new Error('the term has ended'));
    });
    this.#reading.add(giveUp);
    // The end may have come before this began.
    if (this.#loop.isStopped) giveUp();
    try {
      return await Promise.race([work, stopped]);
    } finally {
      this.#reading.delete(giveUp);
    }
  }

  #canceled(group: PointGroup, message: string): SettledGroup {
    const endedAtMs = this.#options.runtime.clock.nowMs();
    const end = { cause: null, message, values: [], source: null, startedAtMs: null, endedAtMs };
    return {
      group,
      ends: group.map(({ number, tries }) => ({ number, tries, outcome: 'CANCELED', ...end })),
    };
  }

  async #create(study: Study, group: PointGroup): Promise<void> {
    const { transitions, runtime, defaultVersion } = this.#options;
    const task = taskOf(study, group, { nowMs: runtime.clock.nowMs(), defaultVersion });
    this.#running.add(task.id);
    try {
      await transitions.createOnce(task, task.id);
    } catch (error) {
      this.#running.delete(task.id);
      throw error;
    }
  }

  /** Whether the results that a study may reuse are known. They are read beside the passes, which must not wait for thousands of points. */
  #knowsEarlier(planned: PlannedStudy): boolean {
    const { runtime, log } = this.#options;
    return planned.knowsEarlier({
      read: () => this.#nextPoints.earlierOf(planned.study),
      onRead: this.wake,
      onFault: (error) => {
        const studyId = planned.study.id;
        if (this.#loop.isStopped) return;
        log.error(
          { err: error, studyId },
          'earlier results could not be read for a study; the hub tries again',
        );
        runtime.timers.after(RETRY_MS, this.wake);
      },
    });
  }

  /** Begins the next points: at most as many as get a task, and those before them that reuse a result. */
  async #begin(
    planned: PlannedStudy,
    record: ActiveStudy,
    { most, size }: { readonly most: number; readonly size: number },
  ): Promise<void> {
    const { begunCount, pointCount } = record;
    const next = await this.#unlessStopped(this.#nextPoints.after(planned, record, most));
    if (next.length === 0) return;
    const { study } = planned;
    const names = study.definition.variables.map(({ name }) => name);
    const points = bundled(next, begunCount + 1, { size, names });
    const numbered = points.map((point, index) => ({ number: begunCount + index + 1, tries: 1, ...point }));
    const ended = numbered.flatMap(({ number, tries, end }) => (end ? [{ number, tries, ...end }] : []));
    if (ended.length > 0) this.wake();
    if (!(await this.#options.studies.begin(study.id, begunCount, points))) return;
    this.#count(ended);
    if (begunCount + points.length === pointCount) planned.allBegun();
    // After they have begun: a study that is resumed then has results, and does not pause by the same ones again.
    await this.#halts.pauseByResults(planned, ended);
    if (ended.length > 0 && (await this.#isStopped(study, record, ended))) return;
    await this.#createAll(
      study,
      numbered.filter(({ end }) => end === null),
    );
  }

  #count(ended: readonly EndedPoint[]): void {
    for (const { outcome } of ended) this.#options.metrics.ended(outcome);
  }

  async #createAll(study: Study, points: readonly OpenPoint[]): Promise<void> {
    await Promise.all(groupsOf(points).map((group) => this.#create(study, group)));
  }

  /** Stops a study by the points that have ended just now; true if it did. */
  async #isStopped(study: Study, record: ActiveStudy, ended: readonly EndedPoint[]): Promise<boolean> {
    return (
      (await this.#halts.stopByValues(study, ended)) || (await this.#halts.stopByFailures(study, record))
    );
  }

  /** Lets further points of the study reuse the result of one that has finished. */
  #remember(planned: PlannedStudy, group: PointGroup, { number, outcome, values }: EndedPoint): void {
    const { earlier } = planned;
    const point = group.find((each) => each.number === number);
    if (!earlier || !point || point.bundle !== null || outcome !== 'FINISHED') return;
    earlier.add({ taskId: planned.taskIdOf(group), variables: point.variables.map(textOf), values });
  }
}

/** The points of an ended task with their ends; those of a bundle that were not run have none. */
interface SettledGroup {
  readonly group: PointGroup;
  readonly ends: readonly EndedPoint[];
}
