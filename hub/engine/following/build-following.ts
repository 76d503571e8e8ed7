/** Those who follow tasks: clients that wait for results, read changes or follow logs. */
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { BlobStore } from '../../core/ports/blobs.js';
import type { Relay } from '../../core/ports/relay.js';
import type { Signals } from '../../core/ports/signals.js';
import type { TaskArchive } from '../../core/ports/task-archive.js';
import type { TaskChanges } from '../../core/ports/task-changes.js';
import type { TaskTransitions } from '../transitions/task-transitions.js';
import { ChangeFeed } from './change-feed.js';
import { LogFollower, type LogFollowerOptions } from './log-follower.js';
import { ResultWaiters } from './result-waiters.js';
import { RunningOutput } from './running-output.js';
import { TaskOutput } from './task-output.js';

export interface FollowingPorts {
  readonly archive: TaskArchive;
  readonly changes: TaskChanges;
  readonly files: BlobStore;
  readonly cluster: { readonly signals: Signals; readonly relay: Relay };
  readonly runtime: Runtime;
  readonly log: Logger;
}

export function buildFollowing(
  { changes, cluster: { signals, relay }, runtime: { clock, timers }, log }: FollowingPorts,
  transitions: TaskTransitions,
) {
  const output = new TaskOutput();
  const resultWaiters = new ResultWaiters(timers);
  const changeFeed = new ChangeFeed({ changes, timers, clock, log });
  transitions.subscribe(output.onTask);
  for (const { onSignal } of [output, resultWaiters, changeFeed]) signals.hear(onSignal);
  return { output, runningOutput: new RunningOutput(relay), resultWaiters, changeFeed };
}

export function buildLogFollower(
  { archive, files, runtime: { timers } }: FollowingPorts,
  before: Pick<LogFollowerOptions, 'tasks' | 'output' | 'runningOutput' | 'sessions'>,
): LogFollower {
  const { tasks, output, runningOutput, sessions } = before;
  return new LogFollower({ tasks, archive, files, output, runningOutput, sessions, timers });
}
