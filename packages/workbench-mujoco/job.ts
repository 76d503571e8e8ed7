import type { MainModule } from '@mujoco/mujoco';
import {
  type ExecuteBatchJobParams,
  MAX_MESSAGE_LENGTH,
} from '@workbench-hub/shared/instance-protocol/messages';
import { InstabilityWatch } from './instability.js';
import { type LoadedModel, type LoadModel, loadModel, ModelRefused } from './model.js';
import type { Send } from './output-channel.js';
import { refusedInterpreter, type Script, type ScriptFailure } from './script-failure.js';

/** Place for the scripts of jobs: the thread's own realm, or a realm that was made for one job. */
export interface JobPlace {
  readonly mujoco: MainModule;
  /** Prepares for a job, before its model is loaded. */
  begin(job: ExecuteBatchJobParams, sources: readonly string[]): void;
  defineGlobals(job: ExecuteBatchJobParams, loaded: LoadedModel | undefined): void;
  runScript(script: Script, workingDirectory: string): Promise<ScriptFailure | undefined>;
  /** Releases what the job leaves. */
  end(loaded: LoadedModel | undefined): void;
}

/** End of a job. */
export type JobEnd =
  /** All scripts succeeded, or one failed, for the reason in `message`. */
  | { kind: 'ended'; status: 'OK' | 'ERROR'; message?: string }
  /** The scripts could not be run. */
  | { kind: 'failed'; message: string };

export async function runJob(
  place: JobPlace,
  job: ExecuteBatchJobParams,
  sources: readonly string[],
  send: Send,
  load: LoadModel = loadModel,
): Promise<JobEnd> {
  place.begin(job, sources);
  let loaded: LoadedModel | undefined;
  try {
    if (job.model !== null) loaded = load(place.mujoco, job.model);
    place.defineGlobals(job, loaded);
    return await runScripts(place, job, sources, loaded, send);
  } catch (error) {
    if (error instanceof ModelRefused) return { kind: 'failed', message: withinLimit(error.message) };
    throw error;
  } finally {
    place.end(loaded);
  }
}

async function runScripts(
  place: JobPlace,
  { workingDirectory }: ExecuteBatchJobParams,
  sources: readonly string[],
  loaded: LoadedModel | undefined,
  send: Send,
): Promise<JobEnd> {
  const count = sources.length;
  const instability = loaded && new InstabilityWatch(place.mujoco, loaded.data);
  for (const [index, source] of sources.entries()) {
    const script = { source, number: index + 1 };
    const failure = refusedInterpreter(script) ?? (await place.runScript(script, workingDirectory));
    send('stderr', instability?.report() ?? '');
    if (failure) {
      send('stderr', failure.details);
      return {
        kind: 'ended',
        status: 'ERROR',
        message: withinLimit(`script ${script.number} of ${count} ${failure.reason}`),
      };
    }
  }
  return { kind: 'ended', status: 'OK' };
}

/** Shortens a message to what the instance protocol allows: a script may throw a text of any length. */
function withinLimit(message: string): string {
  return message.length <= MAX_MESSAGE_LENGTH ? message : `${message.slice(0, MAX_MESSAGE_LENGTH - 4)} ...`;
}
