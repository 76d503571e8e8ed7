/** Reload on SIGHUP: the configuration is read again, and changes that need no restart take effect. */
import type { Logger, LogSettings, OpenLog } from '../runtime/logger.js';
import { StartRefused } from '../runtime/run-program.js';
import { changedKeys } from './changed-keys.js';
import type { LoadedConfig } from './load.js';

/** One part of a program that can be reloaded. */
export interface ReloadStep<Config> {
  /** Applies the configuration; resolves with a sentence on what was done, or null for nothing. Rejects with
   *  {@link StartRefused} when the former state stays in use. */
  run(config: Config): Promise<string | null>;
}

export interface ReloadOptions<Config> {
  /** Configuration of the start. */
  readonly config: Config;
  /** Reads the file and the environment. */
  readonly load: () => LoadedConfig<Config>;
  /** Keys, or beginnings of them, that the steps apply. */
  readonly reloadable: readonly string[];
  readonly steps: readonly ReloadStep<Config>[];
  readonly log: Logger;
}

/** The function for SIGHUP. It logs what it did, which changed keys need a restart, and every part that keeps its former state.
 *  A configuration that is not valid is not used, but log and certificates are read again nevertheless. */
export function reloading<Config>({ config: initial, load, reloadable, steps, log }: ReloadOptions<Config>) {
  let valid = initial;
  const isReloadable = (key: string) =>
    reloadable.some((applied) => key === applied || key.startsWith(`${applied}.`));
  return async (): Promise<void> => {
    const loaded = load();
    if ('config' in loaded) valid = loaded.config;
    const { done, kept } = await runAll(steps, valid, log);
    if ('faults' in loaded) log.error(`the former configuration stays in use: ${loaded.faults.join('; ')}`);
    for (const message of kept) log.error(message);
    log.info({ done }, 'reloaded');
    const keys = changedKeys(initial, valid).filter((key) => !isReloadable(key));
    if (keys.length > 0)
      log.warn({ keys }, 'these changes of the configuration take effect at the next start');
  };
}

/** Sentences of the steps that took effect, and of those whose parts keep their former state. */
interface StepResults {
  readonly done: readonly string[];
  readonly kept: readonly string[];
}

/** Runs all steps; a failure of one is logged. */
async function runAll<Config>(
  steps: readonly ReloadStep<Config>[],
  config: Config,
  log: Logger,
): Promise<StepResults> {
  const done: string[] = [];
  const kept: string[] = [];
  for (const step of steps) {
    try {
      const sentence = await step.run(config);
      if (sentence !== null) done.push(sentence);
    } catch (error) {
      if (error instanceof StartRefused) kept.push(error.message);
      else log.error({ err: error }, 'a part could not be reloaded');
    }
  }
  return { done, kept };
}

/** The step that reopens the log file and takes the settings of the log. */
export function logStep<Config>(
  opened: OpenLog,
  settingsOf: (config: Config) => LogSettings,
): ReloadStep<Config> {
  return {
    run: async (config) => {
      const settings = settingsOf(config);
      try {
        await opened.reload(settings);
      } catch (error) {
        if (!(error instanceof StartRefused)) throw error;
        throw new StartRefused(`the former log file stays in use: ${error.message}`, { cause: error });
      }
      return `the log file ${settings.file} is open, the log level is ${settings.level}`;
    },
  };
}
