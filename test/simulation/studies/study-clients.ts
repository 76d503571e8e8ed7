/** Clients that create studies in the simulated world, look at their points, and check what became of them. */
import { ANYBODY } from '@workbench-hub/hub/core/access';
import { lossThatEnded } from '@workbench-hub/hub/core/attempt-consequences';
import type { StudyDefinition } from '@workbench-hub/hub/core/studies/study';
import type { Task } from '@workbench-hub/hub/core/task';
import type { PointOfStudy, StudyService } from '@workbench-hub/hub/engine/studies/study-service';
import type { Classifier } from '@workbench-hub/shared/domain/classifier';
import { POINTS_FILE, type PointResult, pointResults } from '@workbench-hub/shared/domain/point-results';
import { hasEnded } from '@workbench-hub/shared/domain/task';
import { SMALL } from '../programs.js';
import type { SimulatedHubs } from '../simulated-hubs.js';
import type { World } from '../world.js';

const MAX_POINTS = 30;
const LOOK_MS = 7000;
/** Number of different scripts: studies with the same one may reuse results of each other. */
const SCRIPTS = 2;

interface Wish {
  readonly script: Buffer;
  /** First load; each point has the next one. */
  readonly from: number;
  readonly pointCount: number;
  readonly fields: Pick<
    StudyDefinition,
    'classifiers' | 'timeLimitS' | 'stopAfterFailures' | 'reuse' | 'bundle'
  >;
}

interface Known {
  readonly wish: Wish;
  readonly id: string;
  readonly pointCount: number;
  isOver: boolean;
  /** Outcome that was seen of each try of a point, by `<number>/<try>`. */
  readonly seen: Map<string, string>;
}

export class StudyClients {
  readonly #world: World;
  readonly #hubs: SimulatedHubs;
  readonly #requirements: readonly (readonly Classifier[])[];
  readonly #known: Known[] = [];

  constructor(world: World, hubs: SimulatedHubs, requirements: readonly (readonly Classifier[])[]) {
    this.#world = world;
    this.#hubs = hubs;
    this.#requirements = requirements;
  }

  /** Whether all studies of which a client was told were seen at their end. */
  get areOver(): boolean {
    return this.#known.every(({ isOver }) => isOver);
  }

  /** Number of bundles whose points were looked at. */
  readonly bundles = new Set<string>();

  get points(): number {
    return this.#known.reduce((sum, { pointCount }) => sum + pointCount, 0);
  }

  /** Creates some studies within this time. */
  start(withinMs: number): void {
    const world = this.#world;
    for (let count = world.between(1, 4); count > 0; count--) {
      world.after(world.between(0, withinMs), () => this.#create(this.#wish()));
    }
  }

  #wish(): Wish {
    const world = this.#world;
    return {
      script: Buffer.from(`script ${world.random.below(SCRIPTS)} of a study`),
      from: world.between(1, 3),
      pointCount: world.between(1, MAX_POINTS),
      fields: {
        classifiers: world.random.of(this.#requirements),
        timeLimitS: 60,
        stopAfterFailures: world.happens(0.1) ? 5 : null,
        reuse: world.happens(0.5),
        bundle: world.happens(0.5),
      },
    };
  }

  #create(wish: Wish): void {
    const world = this.#world;
    const { script, from, pointCount, fields } = wish;
    const name = `study ${world.newId()}`;
    this.#hubs.request(
      async ({ studies }, files) => {
        const hold = files.hold();
        const scripts = [await files.put(script, hold)];
        const variables = fields.bundle ? [{ key: SMALL, value: 'yes' }] : [];
        const definition: StudyDefinition = {
          ...fields,
          ...{ values: [], success: [], stopAfterS: null, stopWhen: [] },
          job: { type: 'EXECUTE_BATCH_JOB', model: null, scripts, additionalFiles: [], variables },
          variables: [
            { name: 'load', kind: 'NUMBER', unit: null, lower: null, upper: null, scale: 'LINEAR' },
          ],
        };
        const points = Array.from({ length: pointCount }, (_, index) => ({ load: from + index }));
        const none = { note: null, creator: null, notify: null };
        const checked = { plan: { kind: 'LIST', points }, pointCount } as const;
        try {
          const { counted } = await studies.create({ ...none, name, definition, checked, key: undefined });
          hold.release();
          return counted.study;
        } catch (error) {
          hold.abandon();
          throw error;
        }
      },
      ({ id }) => {
        world.tell('client', `is told that study ${id} of ${pointCount} points was created`);
        const known: Known = { wish, id, pointCount, isOver: false, seen: new Map() };
        this.#known.push(known);
        this.#lookLater(known);
        if (world.happens(0.5)) world.after(world.between(0, 120_000), () => this.#change(known));
      },
      ({ code }) => world.tell('client', `is refused a study: ${code}`),
    );
  }

  /** Pauses, stops or retries a study; it goes on later. */
  #change(known: Known): void {
    const world = this.#world;
    const change = world.random.of(['pause', 'stop', 'retry'] as const);
    this.#hubs.request(
      async ({ studies }): Promise<unknown> =>
        change === 'retry'
          ? studies.retry(known.id, ['FINISHED', 'SOLVER_FAILED', 'INFRASTRUCTURE'], ANYBODY)
          : studies.change(known.id, change, ANYBODY),
      () => {
        world.tell('client', `is told of the ${change} of study ${known.id}`);
        known.isOver = false;
      },
    );
  }

  /** Hands a study in again, some with further points, and lets it reuse results. */
  #runAgain({ wish }: Known): void {
    const world = this.#world;
    if (!world.turbulent || !world.happens(0.5)) return;
    const pointCount = wish.pointCount + (world.happens(0.5) ? world.between(1, 5) : 0);
    this.#create({ ...wish, pointCount, fields: { ...wish.fields, reuse: true } });
  }

  #lookLater(known: Known): void {
    this.#world.after(this.#world.between(LOOK_MS / 2, LOOK_MS), () => this.#look(known));
  }

  #look(known: Known): void {
    const world = this.#world;
    this.#hubs.request(
      async ({ studies }) => {
        const { study, counts } = await studies.get(known.id);
        const { points } = await studies.points(known.id, { after: 0, limit: 1000, outcomes: [] });
        // Without trouble, somebody goes on with a study that stands still.
        const stands = study.state === 'PAUSED' || (study.state === 'STOPPED' && study.message === null);
        if (!world.turbulent && stands)
          await studies.change(known.id, 'resume', ANYBODY).catch(() => undefined);
        return { state: study.state, open: counts.OPEN ?? 0, points };
      },
      ({ state, open, points }) => {
        for (const point of points) this.#see(known, point);
        for (const { bundle, taskId } of points) if (bundle !== null) this.bundles.add(taskId);
        const isOver = (state === 'FINISHED' || state === 'STOPPED') && open === 0;
        if (isOver && !known.isOver) this.#runAgain(known);
        known.isOver = isOver;
      },
      ({ code }) => {
        if (code === 'STUDY_NOT_FOUND') this.#gone(known);
      },
    );
    this.#lookLater(known);
  }

  /** An outcome that was seen stays that of the try. */
  #see({ id, seen }: Known, { number, tries, end }: PointOfStudy): void {
    if (!end || this.#hubs.server?.hasLostDurable) return;
    const key = `${number}/${tries}`;
    const before = seen.get(key);
    const now = `${end.outcome} at ${end.endedAtMs}`;
    if (before === undefined) this.#world.tell('client', `sees point ${key} of study ${id}: ${end.outcome}`);
    seen.set(key, now);
    if (before !== undefined && before !== now) {
      this.#world.violated('an outcome stays', `point ${key} of study ${id} was ${before} and is ${now}`);
    }
  }

  /** A study goes by itself only when it has ended, and by a database that has lost what it had acknowledged. */
  #gone(known: Known): void {
    const mayBe = known.isOver || this.#hubs.server?.hasLostDurable;
    // It may have ended and gone between two looks.
    const isShort = this.#hubs.first.keptForMs < this.#world.nowMs;
    if (!mayBe && !isShort) this.#world.violated('nothing is lost', `study ${known.id} is gone`);
    known.isOver = true;
  }

  /** Checks every study that is left. */
  async check(studies: StudyService): Promise<void> {
    for (const known of this.#known) {
      const found = await this.#world.until(studies.get(known.id).catch(() => undefined));
      if (!found) continue;
      const { study } = found;
      const query = { after: 0, limit: 1000, outcomes: [] };
      const { points } = await this.#world.until(studies.points(known.id, query));
      if (!known.isOver) this.#world.violated('everything ends', `study ${known.id} is ${study.state}`);
      if (study.state === 'FINISHED' && points.length !== study.pointCount) {
        const what = `${points.length} of ${study.pointCount} in ${known.id}`;
        this.#world.violated('every point has its outcome', what);
      }
      for (const point of points) {
        this.#see(known, point);
        if (point.end) continue;
        this.#world.violated('every point has its outcome', `${point.number} of ${known.id} has none`);
      }
    }
  }

  /** Whether a task ran with the variables of a point. */
  async #isOfPoint(taskId: string, { number, variables }: PointOfStudy): Promise<boolean> {
    const job = await this.#world.until(this.#hubs.serving.store.archive.jobOf(taskId));
    if (job?.type !== 'EXECUTE_BATCH_JOB') return false;
    const own = job.points?.find((point) => point.number === number)?.variables ?? job.variables;
    return own.at(-1)?.value === String(variables[0]);
  }

  /** Result of a point in the file of its bundle; undefined for a point with a task of its own, and for a bundle without that file. */
  async #resultOf({ id }: Task, { number, bundle }: PointOfStudy): Promise<PointResult | null | undefined> {
    if (bundle === null) return undefined;
    const hub = this.#hubs.serving;
    const { outputFiles } = await this.#world.until(hub.store.archive.filesOf(id));
    const file = outputFiles.find(({ path }) => path === POINTS_FILE);
    const text = file ? await this.#world.until(hub.blobOf(file.digest)) : undefined;
    return pointResults(text?.toString() ?? '', [number]).get(number) ?? null;
  }

  /** Checks the outcomes of the points against the ends of their tasks. */
  async checkOutcomes(): Promise<void> {
    const { engine, store } = this.#hubs.serving;
    if (!engine) return;
    for (const known of this.#known) {
      const { points } = await this.#world.until(
        engine.studies
          .points(known.id, { after: 0, limit: 1000, outcomes: [] })
          .catch(() => ({ points: [] as PointOfStudy[] })),
      );
      for (const point of points) {
        const task = await this.#world.until(store.archive.find(point.taskId));
        if (!task || !point.end) continue;
        const outcome = expectedOutcome(task, point, await this.#resultOf(task, point));
        const isEqual = await this.#isOfPoint(task.id, point);
        if (outcome === point.end.outcome && isEqual) continue;
        this.#world.violated(
          'an outcome is that of its task',
          `point ${point.number} of ${known.id} is ${point.end.outcome}, and its task ${task.status}${isEqual ? '' : ' with other variables'}`,
        );
      }
    }
  }
}

/** Outcome of a point by its task, and by its result in a bundle, without which it is not settled. */
function expectedOutcome(task: Task, { end }: PointOfStudy, result: PointResult | null | undefined): string {
  if (!hasEnded(task.status)) return 'none';
  if (task.status === 'CANCELED') return 'CANCELED';
  if (result === null) return 'none';
  if (result) return result.status === 'OK' ? 'FINISHED' : 'SOLVER_FAILED';
  if (task.status === 'FINISHED') return end?.source === null ? 'FINISHED' : 'REUSED';
  return lossThatEnded(task) === null ? 'SOLVER_FAILED' : 'INFRASTRUCTURE';
}
