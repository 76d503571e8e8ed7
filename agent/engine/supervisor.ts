/** Supervises one instance: starts, watches, restarts and ends its program. The transitions are in core/instance-states.ts. */
import type { InstanceCommand, InstanceProfile, JobKind } from '@workbench-hub/shared/domain/instance';
import type { InstanceState } from '@workbench-hub/shared/joining/ports/hub';
import { type BackOff, backOff } from '@workbench-hub/shared/runtime/back-off';
import type { Logger } from '@workbench-hub/shared/runtime/logger';
import type { Runtime, Timer } from '@workbench-hub/shared/runtime/runtime';
import {
  advance,
  crashLoopBackoffMs,
  type InstanceLifecycle,
  isIdle,
  type LifecycleEvent,
  NEW_INSTANCE,
  statusOf,
} from '../core/instance-states.js';
import { type Program, type ProgramEnd, ProgramLost, type Programs } from '../core/ports/programs.js';
import { describeEnd, othersAtWork, secondsText } from '../core/program-end.js';
import type { ResourceLimits } from '../core/resource-limits.js';
import type { SandboxSettings } from '../core/sandbox.js';
import { KILL_AFTER_TERM_MS } from '../core/stop-time.js';
import { inWords, type TaskNames } from '../core/task-names.js';
import { CrashHistory } from './crash-history.js';
import { InstanceLog } from './instance-log.js';
import type { ProcessSharing } from './process-sharing.js';

export interface InstanceSettings extends InstanceProfile {
  readonly autostart: boolean;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Null: no sandbox. */
  readonly sandbox: SandboxSettings | null;
  /** Null: no limits. */
  readonly limits: ResourceLimits | null;
  /** Name of the process that may serve it together with all others of that name; null: always a process of its own. */
  readonly commonProcess: string | null;
  /** Maximum time until the answer to `initialize`. */
  readonly startTimeoutMs: number;
  /** Maximum time until the program ends by itself. */
  readonly stopTimeoutMs: number;
  /** Maximum time until a canceled job ends. */
  readonly cancelTimeoutMs: number;
}

export interface SupervisorOptions {
  readonly programs: Programs;
  readonly runtime: Runtime;
  readonly log: Logger;
  /** Null for an instance that always has a process of its own. */
  readonly sharing: ProcessSharing | null;
  /** Called after each change of `state`. */
  readonly onChange: (state: InstanceState) => void;
}

/** The right to use an instance for one attempt. */
export interface Reservation {
  readonly program: Program;
  /** Aborted with a {@link ProgramLost} when the program has ended. */
  readonly lost: AbortSignal;
  /** Delivers the output of scripts from now on. */
  listen(onOutput: (text: string) => Promise<void> | undefined): void;
  /** Asks the program to end the job, and kills it when the deadline passes before {@link endJob} is done, or {@link release}. */
  cancel(taskId: string): void;
  /** Ends processes that the job left running; `completed`: the program has run it to its end. A program in a sandbox ends as a
   *  whole, and the instance starts another. Resolves when no process is left; never rejects. */
  endJob(taskId: string, completed: boolean): Promise<void>;
  /** Releases the instance. `completed`: the job ran to its end. */
  release(completed: boolean): void;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** Length of standard error that is repeated in messages. */
const LAST_WORDS_LENGTH = 2000;

/** One run of the instance program. */
interface Run {
  readonly program: Program;
  readonly lost: AbortController;
  readonly stderrFrom: number;
  readonly timers: Timer[];
  startDeadline: Timer | null;
  upSinceMs: number | null;
  /** Failure of the program because of which the agent ended it. */
  fault: string | null;
  /** True when the agent ended it for another reason than a failure. */
  onPurpose: boolean;
  /** Set when the agent ended it because its sandbox serves one job. */
  endedWithJob: { readonly completed: boolean } | null;
}

export class Supervisor {
  readonly settings: InstanceSettings;
  readonly output: InstanceLog;
  readonly crashes: CrashHistory;
  readonly #options: SupervisorOptions;
  readonly #log: Logger;
  readonly #pauses: BackOff;
  #instance: InstanceLifecycle = NEW_INSTANCE;
  #run: Run | null = null;
  #pause: Timer | null = null;
  /** Current task, for the logs. */
  #task: TaskNames | null = null;
  #listener: { taskId: string; onOutput: (text: string) => Promise<void> | undefined } | null = null;
  #whenDown: (() => void)[] = [];
  /** Kind of jobs that the program runs, as it said when it was ready last. */
  #runs: JobKind | undefined;
  /** True when the program replaces one that ended with its job: logged at a low level. */
  #isRoutine = false;

  constructor(settings: InstanceSettings, options: SupervisorOptions) {
    this.settings = settings;
    this.#options = options;
    this.#log = options.log.child({ instance: settings.id });
    this.#pauses = backOff(FIRST_PAUSE_MS, LONGEST_PAUSE_MS, options.runtime.random);
    this.output = new InstanceLog(options.runtime.clock);
    this.crashes = new CrashHistory(options.runtime.clock);
  }

  state(): InstanceState {
    const { id, version, revision, labels } = this.settings;
    const status = statusOf(this.#instance);
    const since = status === 'UP' || this.#instance.phase === 'DRAINING' ? this.#run?.upSinceMs : null;
    const upForMs = since === null || since === undefined ? null : this.#nowMs() - since;
    return { id, version, revision, labels, runs: this.#runs, status, upForMs };
  }

  /** Acts in the background; the latest command wins. */
  command(command: InstanceCommand): void {
    this.#handle({ type: 'COMMAND', command });
  }

  /** Reserves the instance for an attempt; undefined when it is not ready. */
  reserve(task: TaskNames): Reservation | undefined {
    const run = this.#run;
    if (!run || !isIdle(this.#instance)) return undefined;
    this.#task = task;
    // Only here: the agent's log has its own line.
    this.output.note(`${inWords(task)} begins`);
    this.#handle({ type: 'CLAIMED' });
    let deadline: Timer | undefined;
    return {
      program: run.program,
      lost: run.lost.signal,
      listen: (onOutput) => {
        this.#listener = { taskId: task.taskId, onOutput };
      },
      cancel: (canceledTaskId) => {
        // Only the deadline counts, not the answer.
        run.program.cancel(canceledTaskId).catch((error: unknown) => {
          this.#log.debug({ err: error }, 'the program did not accept the cancel');
        });
        deadline ??= this.#options.runtime.timers.after(this.settings.cancelTimeoutMs, () => {
          const limit = secondsText(this.settings.cancelTimeoutMs);
          this.#note('warn', `the program did not end a canceled job within ${limit}: it is killed`);
          run.onPurpose = true;
          run.program.kill();
        });
      },
      endJob: async (endedTaskId, completed) => {
        if (run.program.directory === null) await run.program.endOrphans(endedTaskId);
        else {
          run.endedWithJob ??= { completed };
          run.program.kill();
          await run.program.ended;
        }
        // The agent's work after the job, such as taking its outputs, may take longer.
        deadline?.cancel();
      },
      release: (completed) => {
        deadline?.cancel();
        // The end of a program that is being killed releases the instance, too.
        if (this.#run !== run || run.lost.signal.aborted || run.onPurpose) return;
        this.#listener = null;
        this.#task = null;
        this.#handle({ type: 'RELEASED', completed });
      },
    };
  }

  /** Takes no task until {@link endCooldown}; a running one continues. */
  coolDown(reason: string): void {
    this.output.note(reason);
    this.#handle({ type: 'COOLDOWN' });
  }

  endCooldown(): void {
    this.#handle({ type: 'COOLDOWN_OVER' });
  }

  /** Ends the instance at once; resolves when no process is left. */
  async stop(): Promise<void> {
    this.#handle({ type: 'COMMAND', command: 'stop' });
    if (this.#instance.phase === 'DRAINING') this.#handle({ type: 'RELEASED', completed: false });
    if (this.#instance.phase !== 'STOPPING') return;
    await new Promise<void>((resolve) => this.#whenDown.push(resolve));
  }

  #handle(event: LifecycleEvent): void {
    const before = this.#instance;
    const { instance, action, known } = advance(before, event);
    this.#instance = instance;
    if (!known)
      this.#log.debug({ event, phase: before.phase }, 'ignored an event that changes nothing in this phase');
    if (instance.failuresInARow === 0) this.#pauses.reset();
    if (instance.phase !== before.phase) {
      this.#pause?.cancel();
      this.#pause = null;
    }
    if (action === 'START_PROGRAM') this.#launch();
    else if (action === 'BACK_OFF') this.#pauseBeforeNextTry();
    else if (action === 'STOP_PROGRAM') this.#end();
    if (statusOf(before) !== statusOf(instance)) this.#options.onChange(this.state());
    if (instance.phase === 'DOWN') {
      for (const resolve of this.#whenDown.splice(0)) resolve();
    }
  }

  #launch(): void {
    const { settings, output } = this;
    this.#listener = null;
    const program = this.#options.programs.start(
      {
        instance: settings,
        command: settings.command,
        env: settings.env,
        sandbox: settings.sandbox,
        limits: settings.limits,
        commonProcess: this.#options.sharing?.commonProcess ?? null,
      },
      {
        onStarted: () => this.#onStarted(),
        onOutput: (taskId, stream, text) => {
          output.print(stream, text);
          return this.#listener?.taskId === taskId ? this.#listener.onOutput(text) : undefined;
        },
        onStderr: (text) => output.print('stderr', text),
      },
    );
    const run: Run = {
      program,
      lost: new AbortController(),
      stderrFrom: output.stderrEnd,
      timers: [],
      startDeadline: null,
      upSinceMs: null,
      fault: null,
      onPurpose: false,
      endedWithJob: null,
    };
    this.#run = run;
    this.#onStarted();
    this.#initialize(run);
    void program.ended.then((end) => {
      this.#onEnded(run, end);
    });
  }

  /** The program of the run has a process now: its time to start begins. */
  #onStarted(): void {
    const run = this.#run;
    if (run?.program.pid === undefined) return;
    const { pid, isJoined } = run.program;
    const command = this.settings.command.join(' ');
    this.#note(
      this.#isRoutine ? 'debug' : 'info',
      isJoined ? `joined process ${pid} of other instances` : `started process ${pid}: ${command}`,
    );
    const { startTimeoutMs } = this.settings;
    run.startDeadline?.cancel();
    run.startDeadline = this.#options.runtime.timers.after(startTimeoutMs, () => {
      run.fault = `it did not answer "initialize" within ${secondsText(startTimeoutMs)}`;
      run.program.kill();
    });
  }

  #initialize(run: Run): void {
    run.program.initialize().then(
      ({ name, version, runs }) => {
        run.startDeadline?.cancel();
        if (this.#run !== run || this.#instance.phase !== 'STARTING') return;
        this.#runs = runs;
        run.upSinceMs = this.#nowMs();
        this.#note(this.#isRoutine ? 'debug' : 'info', `up: ${name} ${version}`);
        this.#isRoutine = false;
        this.#handle({ type: 'READY' });
      },
      (error: Error) => {
        run.startDeadline?.cancel();
        if (error instanceof ProgramLost) return; // its end is reported by `ended`
        run.fault = `it answered "initialize" with an error: ${error.message}`;
        run.program.kill();
      },
    );
  }

  #onEnded(run: Run, end: ProgramEnd): void {
    for (const timer of run.timers) timer.cancel();
    run.startDeadline?.cancel();
    if (run.endedWithJob !== null) {
      this.#onEndedWithJob(run.endedWithJob);
      return;
    }
    const { phase, busy } = this.#instance;
    const isForAnother = end.kind === 'KILLED_FOR';
    const workers = othersAtWork(end) + (busy ? 1 : 0);
    const wanted = phase === 'STOPPING' || run.onPurpose || isForAnother;
    const why = this.#reportEnd(run, end, wanted);
    // If it worked alone, it is the cause.
    const isOfOthers = isForAnother || othersAtWork(end) > 0;
    run.lost.abort(new ProgramLost(why, { isOfOthers }));
    this.#forgetRun();
    // Before the first of them starts again.
    if (workers > 1) this.#options.sharing?.crashed();
    const upForMs = run.upSinceMs === null ? 0 : this.#nowMs() - run.upSinceMs;
    if (isOfOthers && !wanted) this.#handle({ type: 'ENDED_TOGETHER' });
    else this.#handle({ type: 'ENDED', onPurpose: run.onPurpose || isForAnother, upForMs });
  }

  /** Logs the end of a run, one that was not wanted as a crash, too; returns why it ended. */
  #reportEnd(run: Run, end: ProgramEnd, wanted: boolean): string {
    const reason = `the instance program ${run.fault === null ? describeEnd(end) : `was killed: ${run.fault}`}`;
    if (wanted) {
      this.#note('info', reason);
      return reason;
    }
    // The reasons of other ends are complete.
    const exited = end.kind === 'EXITED' && run.fault === null;
    const unready = exited && run.upSinceMs === null ? ' before it was ready' : '';
    const words = this.output.lastOfStderr(run.stderrFrom, LAST_WORDS_LENGTH);
    const lastWords = words === '' ? '' : `; its last lines on standard error: ${words}`;
    this.#note('error', `${reason}${unready}${lastWords}`);
    this.crashes.add(`${reason}${unready}${lastWords}`, this.#task?.taskId ?? null);
    return `${reason}${lastWords}`;
  }

  /** The attempt continues with the outputs of the job: its program is not lost. */
  #onEndedWithJob({ completed }: { readonly completed: boolean }): void {
    this.#note('debug', 'ended the program with its job: a sandbox serves one job');
    this.#forgetRun();
    this.#isRoutine = true;
    this.#handle({ type: 'ENDED_WITH_JOB', completed });
  }

  #forgetRun(): void {
    this.#run = null;
    this.#listener = null;
    this.#task = null;
    this.#isRoutine = false;
  }

  #pauseBeforeNextTry(): void {
    const isGivenUp = this.#instance.phase === 'FAILED';
    const pauseMs = isGivenUp ? crashLoopBackoffMs(this.#instance) : this.#pauses.nextMs();
    if (isGivenUp) {
      const failures = `${this.#instance.failuresInARow} failures in a row`;
      const next = `tried again in ${pauseMs / 60_000} min`;
      this.#note('error', `given up after ${failures}: ${next}, or start it by command`);
    } else {
      this.#note('info', `next start in ${secondsText(pauseMs)}`);
    }
    this.#pause = this.#options.runtime.timers.after(pauseMs, () => this.#handle({ type: 'BACKOFF_OVER' }));
  }

  #end(): void {
    const run = this.#run;
    if (!run) return;
    const { timers } = this.#options.runtime;
    const { stopTimeoutMs } = this.settings;
    run.program.shutdown();
    const terminate = timers.after(stopTimeoutMs, () => {
      this.#note(
        'warn',
        `the program did not end within ${secondsText(stopTimeoutMs)} of "shutdown": SIGTERM`,
      );
      run.program.terminate();
      run.timers.push(
        timers.after(KILL_AFTER_TERM_MS, () => {
          this.#note('warn', 'the program did not end after SIGTERM: SIGKILL');
          run.program.kill();
        }),
      );
    });
    run.timers.push(terminate);
  }

  /** Adds a line to the instance's log and, with the task, to the agent's log. */
  #note(level: 'debug' | 'info' | 'warn' | 'error', line: string): void {
    if (level !== 'debug') this.output.note(line);
    this.#log[level](this.#task ?? {}, line);
  }

  #nowMs(): number {
    return this.#options.runtime.clock.monotonicMs();
  }
}
