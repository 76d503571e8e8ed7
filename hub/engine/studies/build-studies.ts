/** Studies: one job at many points. */
import { fits } from '@workbench-hub/shared/domain/matching';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { BlobStore } from '../../core/ports/blobs.js';
import type { Invalidations } from '../../core/ports/invalidations.js';
import { NO_STUDY_METRICS, type StudyMetrics } from '../../core/ports/metrics.js';
import type { OutputValues } from '../../core/ports/output-values.js';
import type { PointTables } from '../../core/ports/point-tables.js';
import type { Signals } from '../../core/ports/signals.js';
import type { Studies } from '../../core/ports/studies.js';
import type { TaskArchive } from '../../core/ports/task-archive.js';
import type { TaskQueue } from '../../core/ports/task-queue.js';
import { survey, waitFacts } from '../../core/wait-reason.js';
import type { Instances } from '../instances/instances.js';
import type { ShutdownPreparation } from '../scheduling/shutdown-preparation.js';
import type { TaskTransitions } from '../transitions/task-transitions.js';
import type { Webhooks } from '../webhooks/webhooks.js';
import { InvalidationService } from './invalidation-service.js';
import { StudyDriver, type StudySettings } from './study-driver.js';
import { StudyFollower } from './study-follower.js';
import { StudyService } from './study-service.js';

export interface StudyPorts {
  readonly studies: Studies;
  readonly invalidations: Invalidations;
  readonly outputValues: OutputValues;
  readonly pointTables: PointTables;
  readonly studySettings: StudySettings;
  readonly queue: TaskQueue;
  readonly archive: TaskArchive;
  readonly files: BlobStore;
  readonly studyMetrics?: StudyMetrics;
  readonly defaultVersion: string | null;
  readonly cluster: { readonly signals: Signals };
  readonly runtime: Runtime;
  readonly log: Logger;
}

/** The subjects that were built before. */
interface Before {
  readonly instances: Instances;
  readonly transitions: TaskTransitions;
  readonly shutdown: ShutdownPreparation;
  readonly webhooks: Webhooks | null;
}

export function buildStudies(ports: StudyPorts, { instances, transitions, shutdown, webhooks }: Before) {
  const {
    queue,
    archive,
    files,
    invalidations,
    outputValues,
    studySettings: settings,
    defaultVersion,
    cluster,
    runtime,
    log,
  } = ports;
  const studyDriver = new StudyDriver({
    ...{
      queue,
      archive,
      files,
      invalidations,
      transitions,
      outputValues,
      settings,
      defaultVersion,
      runtime,
      log,
    },
    studies: ports.studies,
    metrics: ports.studyMetrics ?? NO_STUDY_METRICS,
    isPaused: () => shutdown.isPaused,
    instancesUp: (requirement) => {
      const { idle, busy } = waitFacts(survey(requirement, instances.countedClasses)).fitting;
      return idle + busy;
    },
    buildsFor: (requirement) =>
      instances.list().flatMap(({ profile }) => (fits(requirement, profile) ? [profile] : [])),
  });
  cluster.signals.hear(studyDriver.onSignal);
  shutdown.subscribe(studyDriver.wake);
  const studies = new StudyService({
    ...{
      studies: ports.studies,
      syntax: outputValues,
      tables: ports.pointTables,
      maxPoints: settings.maxPoints,
      webhooks,
      runtime,
    },
    refuseNewTasks: () => shutdown.refuseNewTasks(),
    onChange: studyDriver.wake,
  });
  return {
    studyDriver,
    studies,
    studyFollower: new StudyFollower({ studies: ports.studies, runtime, log }),
    invalidations: new InvalidationService({ invalidations, archive, runtime }),
  };
}
