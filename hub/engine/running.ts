/** Start and stop of the engine. */
import type { Roles } from '../core/ports/roles.js';
import type { AgentExclusions } from './agents/agent-exclusions.js';
import type { AgentSessions } from './agents/agent-sessions.js';
import type { SentBlobs } from './agents/sent-blobs.js';
import type { ChangeFeed } from './following/change-feed.js';
import type { LogFollower } from './following/log-follower.js';
import type { ResultWaiters } from './following/result-waiters.js';
import { type SchedulerTermsParts, schedulerTerms } from './scheduler-terms.js';
import type { ResumableUploadService } from './storage/resumable-upload-service.js';
import type { StudyFollower } from './studies/study-follower.js';
import type { LocalSweeper } from './upkeep/local-sweeper.js';
import type { Statistics } from './upkeep/statistics.js';
import type { Webhooks } from './webhooks/webhooks.js';

export interface Running {
  /** Continues what the store holds: the leases of running tasks, then the queue. Rejects after a stop. */
  start(): Promise<void>;
  /** Gives the role of the scheduler up for good, so that another hub gains it at once. */
  resign(): Promise<void>;
  /** Ends dispatching, and releases agents and waiting clients. */
  quiesce(): Promise<void>;
  /** Ends everything that runs, also when it was not started; the store may be closed afterwards. */
  stop(): Promise<void>;
}

export interface RunningParts extends SchedulerTermsParts {
  readonly sessions: AgentSessions;
  readonly exclusions: AgentExclusions;
  readonly sentBlobs: SentBlobs;
  readonly resultWaiters: ResultWaiters;
  readonly changeFeed: ChangeFeed;
  readonly logFollower: LogFollower;
  readonly studyFollower: StudyFollower;
  readonly webhooks: Webhooks | null;
  readonly localSweeper: LocalSweeper;
  readonly uploads: ResumableUploadService;
  readonly statistics: Statistics;
}

/** Each may be called twice; a stop waits for a start that is under way. */
export function runningOf(roles: Roles, parts: RunningParts): Running {
  const {
    scheduler,
    sessions,
    resultWaiters,
    exclusions,
    sentBlobs,
    changeFeed,
    logFollower,
    studyFollower,
    webhooks,
    resync,
  } = parts;
  let starting: Promise<void> | undefined;
  let stopping: Promise<void> | undefined;
  let hasRead = false;
  const role = schedulerTerms(parts, () => {
    hasRead = true;
  });
  const start = async () => {
    parts.localSweeper.start();
    await roles.contend(role);
    // Another hub has the role.
    if (!hasRead) await resync.now();
    webhooks?.start();
  };
  const quiesce = async () => {
    // It waits for a sweep; agents and clients do not.
    const resigned = roles.resign();
    await scheduler.stop();
    sessions.closeAll('the hub stops');
    resultWaiters.releaseAll();
    await changeFeed.close();
    logFollower.close();
    studyFollower.close();
    await webhooks?.stop();
    await resigned;
  };
  const stop = async () => {
    await starting?.catch(() => undefined);
    await roles.resign();
    await role.lost();
    await changeFeed.close();
    await webhooks?.stop();
    exclusions.stop();
    sentBlobs.stop();
    await parts.localSweeper.stop();
    await parts.uploads.stop();
    await parts.statistics.stop();
  };
  return {
    start: () => {
      if (stopping !== undefined) return Promise.reject(new Error('the engine has been stopped'));
      starting ??= start();
      return starting;
    },
    resign: () => roles.resign(),
    quiesce,
    stop: () => {
      stopping ??= stop();
      return stopping;
    },
  };
}
