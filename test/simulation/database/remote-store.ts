/** The store of a hub on the simulated database server: the real lanes, queue and inline blobs of PostgreSQL, with statements of
 *  the model. */
import type { TaskStore } from '@workbench-hub/hub/core/ports/store';
import { NO_STATISTICS } from '@workbench-hub/hub/core/ports/task-statistics';
import type { Database } from '@workbench-hub/hub/store/postgres/connection/pool';
import { translatedReads } from '@workbench-hub/hub/store/postgres/connection/translated-reads';
import type { Lane } from '@workbench-hub/hub/store/postgres/lanes/lane';
import { closeLanes, type Lanes, openLanes } from '@workbench-hub/hub/store/postgres/lanes/lanes';
import { postgresInlineBlobs } from '@workbench-hub/hub/store/postgres/objects/inline-blobs';
import { queueInLanes } from '@workbench-hub/hub/store/postgres/tasks/task-queue';
import { REMOVE_WRITE } from '@workbench-hub/hub/store/postgres/tasks/task-removal';
import type { ModelStore } from '@workbench-hub/hub/store/sqlite/fixtures/model-store';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { modelWrite, readModel } from './model-statements.js';
import { queueWrites } from './queue-writes.js';

export interface RemoteStoreOptions {
  readonly runtime: Runtime;
  readonly log: Logger;
  /** Name of the hub, which keeps its lanes. */
  readonly hub: string;
  /** Name of this start of the hub; a new one when left out. */
  readonly incarnation?: string;
  readonly onBroken: (why: Error) => void;
  /** Whether the database has studies. While it has none, looking for them takes no time: the worlds, which have none so far, go on
   *  as their seeds say. */
  readonly hasStudies: () => boolean;
}

export interface RemoteStore extends TaskStore {
  /** Writes what waits. */
  close(): Promise<void>;
}

type Read = <T>(read: (ports: TaskStore, model: ModelStore) => Promise<T>) => Promise<T>;

/** Takes the lanes of the hub over; rejects with `DatabaseFault`. */
export async function openRemoteStore(db: Database, options: RemoteStoreOptions): Promise<RemoteStore> {
  const { runtime, log, hub, onBroken, incarnation = runtime.newId() } = options;
  const watchers = new Set<() => void>();
  const { lanes, claims, hasUnloggedClaims } = await openLanes(db, {
    clock: runtime.clock,
    timers: runtime.timers,
    log,
    hub,
    incarnation,
    onWritten: (isDurable) => {
      if (isDurable) for (const onDurable of [...watchers]) onDurable();
    },
    onBroken,
  });
  const reads = translatedReads(db);
  const read: Read = (work) => readModel(reads, work);
  if (hasUnloggedClaims) await logClaims(lanes);
  const watch = (onDurable: () => void) => {
    watchers.add(onDurable);
    return () => void watchers.delete(onDurable);
  };
  return {
    queue: queueInLanes({
      lanes,
      claims,
      claimed: () => undefined,
      onRequirementsRemoved: () => undefined,
      reads: queueReads(read),
      writes: queueWrites(),
    }),
    ...readPorts(read, watch),
    archive: archiveOn(lanes, read),
    loans: loansOn(lanes.change, read),
    allocations: allocationsOn(lanes.change, read),
    rollouts: rolloutsOn(lanes.change, read),
    studies: studiesOn(lanes.change, read, options.hasStudies),
    invalidations: invalidationsOn(lanes.change, read),
    ...sidePorts(lanes, read),
    webhooks: webhooksOn(lanes.side, read, watch),
    inlineBlobs: postgresInlineBlobs(reads, lanes),
    blobCatalogue: catalogueOn(lanes.change, read),
    close: () => closeLanes(lanes),
  };
}

/** The model logs each claim with its batch, so only the number of the latest one is left to say. */
async function logClaims({ change }: Lanes): Promise<void> {
  const nothing = modelWrite({ isDurable: true, keys: () => [] }, async () => null);
  await change.write(nothing, null);
}

function queueReads(read: Read) {
  return {
    waitingGroups: (page) => read(({ queue }) => queue.waitingGroups(page)),
    heads: (groups) => read(({ queue }) => queue.heads(groups)),
    waiting: (taskIds) => read(({ queue }) => queue.waiting(taskIds)),
    countAhead: (groupIds, place, limit) => read(({ queue }) => queue.countAhead(groupIds, place, limit)),
    countByCreator: (...args) => read(({ queue }) => queue.countByCreator(...args)),
    countWithin: (...args) => read(({ queue }) => queue.countWithin(...args)),
    runningOn: (agentId) => read(({ queue }) => queue.runningOn(agentId)),
    running: () => read(({ queue }) => queue.running()),
    hasKeys: () => Promise.resolve(false),
  } satisfies Parameters<typeof queueInLanes>[0]['reads'];
}

function archiveOn({ change }: Lanes, read: Read): TaskStore['archive'] {
  const remove = modelWrite(REMOVE_WRITE, ({ ports }, taskIds) => ports.archive.remove(taskIds));
  return {
    find: (taskId) => read(({ archive }) => archive.find(taskId)),
    filesOf: (taskId) => read(({ archive }) => archive.filesOf(taskId)),
    jobOf: (taskId) => read(({ archive }) => archive.jobOf(taskId)),
    checkpointOf: (taskId) => read(({ archive }) => archive.checkpointOf(taskId)),
    formerAttempts: (taskId) => read(({ archive }) => archive.formerAttempts(taskId)),
    list: (query) => read(({ archive }) => archive.list(query)),
    window: (query, client) => read(({ archive }) => archive.window(query, client)),
    withInput: (content, limit) => read(({ archive }) => archive.withInput(content, limit)),
    remove: (taskIds) => change.write(remove, taskIds),
    endedBefore: (timeMs, limit) => read(({ archive }) => archive.endedBefore(timeMs, limit)),
  };
}

function loansOn(change: Lane, read: Read): TaskStore['loans'] {
  return {
    all: () => read(({ loans }) => loans.all()),
    close: write(change, true, ({ loans }, taskIds) => loans.close(taskIds)),
  };
}

function allocationsOn(change: Lane, read: Read): TaskStore['allocations'] {
  return {
    notes: () => read(({ allocations }) => allocations.notes()),
    note: write(change, true, ({ allocations }, ...args) => allocations.note(...args)),
    add: write(change, true, ({ allocations }, ...args) => allocations.add(...args)),
    change: write(change, true, ({ allocations }, ...args) => allocations.change(...args)),
    open: () => read(({ allocations }) => allocations.open()),
    find: (id) => read(({ allocations }) => allocations.find(id)),
    latest: (query) => read(({ allocations }) => allocations.latest(query)),
    ranForUsersSince: (...args) => read(({ allocations }) => allocations.ranForUsersSince(...args)),
    ranIn: (...args) => read(({ allocations }) => allocations.ranIn(...args)),
    ranSince: (...args) => read(({ allocations }) => allocations.ranSince(...args)),
    version: () => read(({ allocations }) => allocations.version()),
    removeBefore: write(change, true, ({ allocations }, ...args) => allocations.removeBefore(...args)),
  };
}

function rolloutsOn(change: Lane, read: Read): TaskStore['rollouts'] {
  return {
    find: (target) => read(({ rollouts }) => rollouts.find(target)),
    members: (target) => read(({ rollouts }) => rollouts.members(target)),
    begin: write(change, true, ({ rollouts }, rollout) => rollouts.begin(rollout)),
    record: write(change, true, ({ rollouts }, ...args) => rollouts.record(...args)),
    stop: write(change, true, ({ rollouts }, ...args) => rollouts.stop(...args)),
    resume: write(change, true, ({ rollouts }, ...args) => rollouts.resume(...args)),
  };
}

function studiesOn(change: Lane, read: Read, hasStudies: () => boolean): TaskStore['studies'] {
  return {
    create: write(change, true, ({ studies }, study) => studies.create(study)),
    find: (id) => read(({ studies }) => studies.find(id)),
    idByKey: (creator, key) => read(({ studies }) => studies.idByKey(creator, key)),
    record: (id) => read(({ studies }) => studies.record(id)),
    list: (query) => read(({ studies }) => studies.list(query)),
    states: () => read(({ studies }) => studies.states()),
    partWith: (id, point) => read(({ studies }) => studies.partWith(id, point)),
    partByKey: (id, key) => read(({ studies }) => studies.partByKey(id, key)),
    failedSinceResume: (id) => read(({ studies }) => studies.failedSinceResume(id)),
    counts: (id) => read(({ studies }) => studies.counts(id)),
    withFile: (content, limit) => read(({ studies }) => studies.withFile(content, limit)),
    points: (id, query) => read(({ studies }) => studies.points(id, query)),
    extend: write(change, true, ({ studies }, ...args) => studies.extend(...args)),
    setState: write(change, true, ({ studies }, ...args) => studies.setState(...args)),
    retry: write(change, true, ({ studies }, ...args) => studies.retry(...args)),
    remove: write(change, true, ({ studies }, id) => studies.remove(id)),
    endedBefore: async (timeMs, limit) =>
      hasStudies() ? read(({ studies }) => studies.endedBefore(timeMs, limit)) : [],
    active: async () => (hasStudies() ? read(({ studies }) => studies.active()) : []),
    open: (id, limit) => read(({ studies }) => studies.open(id, limit)),
    due: (id, limit) => read(({ studies }) => studies.due(id, limit)),
    beginAgain: write(change, true, ({ studies }, ...args) => studies.beginAgain(...args)),
    begin: write(change, true, ({ studies }, ...args) => studies.begin(...args)),
    unbundle: write(change, true, ({ studies }, ...args) => studies.unbundle(...args)),
    end: write(change, true, ({ studies }, id, ended) => studies.end(id, ended)),
    finish: write(change, true, ({ studies }, ...args) => studies.finish(...args)),
  };
}

function invalidationsOn(change: Lane, read: Read): TaskStore['invalidations'] {
  return {
    add: write(change, true, ({ invalidations }, invalidation) => invalidations.add(invalidation)),
    list: () => read(({ invalidations }) => invalidations.list()),
    find: (id) => read(({ invalidations }) => invalidations.find(id)),
    remove: write(change, true, ({ invalidations }, id) => invalidations.remove(id)),
  };
}

function catalogueOn(change: Lane, read: Read): TaskStore['blobCatalogue'] {
  return {
    name: () => read(({ blobCatalogue }) => blobCatalogue.name()),
    find: (name) => read(({ blobCatalogue }) => blobCatalogue.find(name)),
    add: write(change, false, ({ blobCatalogue }, ...args) => blobCatalogue.add(...args)),
    use: write(change, false, ({ blobCatalogue }, entry) => blobCatalogue.use(entry)),
    remove: write(change, true, ({ blobCatalogue }, names) => blobCatalogue.remove(names)),
    old: (...args) => read(({ blobCatalogue }) => blobCatalogue.old(...args)),
    known: (objects) => read(({ blobCatalogue }) => blobCatalogue.known(objects)),
  };
}

function readPorts(
  read: Read,
  watch: (onDurable: () => void) => () => void,
): Pick<TaskStore, 'changes' | 'statistics'> {
  return {
    changes: {
      latest: () => read(({ changes }) => changes.latest()),
      since: (cursor, limit) => read(({ changes }) => changes.since(cursor, limit)),
      watch,
    },
    statistics: NO_STATISTICS,
  };
}

/** A write of one call after the other. */
function write<Args extends unknown[], Result>(
  lane: Lane,
  isDurable: boolean,
  perform: (ports: TaskStore, ...args: Args) => Promise<Result>,
): (...args: Args) => Promise<Result> {
  const one = modelWrite<Args, Result>({ isDurable, keys: () => [] }, ({ ports }, args) =>
    perform(ports, ...args),
  );
  return (...args) => lane.write(one, args);
}

function sidePorts(
  { change, side }: Lanes,
  read: Read,
): Pick<TaskStore, 'agents' | 'exclusions' | 'namedObjects' | 'uploads'> {
  return {
    agents: {
      save: write(side, false, ({ agents }, agent) => agents.save(agent)),
      all: () => read(({ agents }) => agents.all()),
      forget: write(side, false, ({ agents }, agentId) => agents.forget(agentId)),
    },
    exclusions: {
      put: write(change, false, ({ exclusions }, taskId, exclusion) => exclusions.put(taskId, exclusion)),
      since: (atMs) => read(({ exclusions }) => exclusions.since(atMs)),
    },
    namedObjects: {
      find: (area, name, nowMs) => read(({ namedObjects }) => namedObjects.find(area, name, nowMs)),
      list: (area, query, nowMs) => read(({ namedObjects }) => namedObjects.list(area, query, nowMs)),
      put: write(change, true, ({ namedObjects }, stored, terms) => namedObjects.put(stored, terms)),
      renew: write(change, true, ({ namedObjects }, ...args) => namedObjects.renew(...args)),
      remove: write(change, true, ({ namedObjects }, ...args) => namedObjects.remove(...args)),
      useOf: (area, owner, except) => read(({ namedObjects }) => namedObjects.useOf(area, owner, except)),
      removeExpired: write(change, true, ({ namedObjects }, nowMs) => namedObjects.removeExpired(nowMs)),
    },
    uploads: {
      create: write(change, true, ({ uploads }, upload, terms) => uploads.create(upload, terms)),
      find: (id, nowMs) => read(({ uploads }) => uploads.find(id, nowMs)),
      listOf: (owner, nowMs) => read(({ uploads }) => uploads.listOf(owner, nowMs)),
      advance: write(change, true, ({ uploads }, ...args) => uploads.advance(...args)),
      identify: write(change, true, ({ uploads }, id, digest) => uploads.identify(id, digest)),
      finish: write(change, true, ({ uploads }, ...args) => uploads.finish(...args)),
      remove: write(change, true, ({ uploads }, id) => uploads.remove(id)),
      removeExpired: write(change, true, ({ uploads }, nowMs) => uploads.removeExpired(nowMs)),
      known: (ids) => read(({ uploads }) => uploads.known(ids)),
    },
  };
}

function webhooksOn(side: Lane, read: Read, watch: TaskStore['webhooks']['watch']): TaskStore['webhooks'] {
  return {
    // The server has the webhooks of its world from the beginning.
    subscribe: () => undefined,
    notifyOf: (taskId) => read(({ webhooks }) => webhooks.notifyOf(taskId)),
    notifyOfStudy: (studyId) => read(({ webhooks }) => webhooks.notifyOfStudy(studyId)),
    takeRefused: () => Promise.resolve([]),
    waiting: () => read(({ webhooks }) => webhooks.waiting()),
    claim: write(side, false, ({ webhooks }, query) => webhooks.claim(query)),
    settle: write(side, false, ({ webhooks }, outcomes) => webhooks.settle(outcomes)),
    giveUp: write(side, false, ({ webhooks }, ...args) => webhooks.giveUp(...args)),
    ofTask: (taskId) => read(({ webhooks }) => webhooks.ofTask(taskId)),
    ofStudy: (studyId) => read(({ webhooks }) => webhooks.ofStudy(studyId)),
    forget: write(side, false, ({ webhooks }, endedBeforeMs) => webhooks.forget(endedBeforeMs)),
    refresh: () => Promise.resolve(),
    watch,
  };
}
