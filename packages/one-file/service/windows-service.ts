/** The service of the agent on Windows. */
import { mkdirSync } from 'node:fs';
import { type AccessLists, serviceSid } from '@workbench-hub/agent/process/windows/access-lists';
import { WindowsError } from '@workbench-hub/agent/process/windows/foreign-functions';
import { messageOf } from '@workbench-hub/shared/runtime/message-of';
import { pause } from '@workbench-hub/shared/runtime/pause';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import type { EventLog } from './event-log.js';
import { type HostService, type ServiceAccount, ServiceFault, type ServiceTarget } from './host-service.js';
import {
  ERRORS,
  SERVICE_STATES,
  type ServiceCalls,
  type ServiceDefinition,
  type ServiceStatus,
} from './service-calls.js';
import { SERVICE_NAME } from './service-name.js';

export interface WindowsServicePorts {
  readonly name: string;
  readonly calls: ServiceCalls;
  readonly events: EventLog;
  readonly accessLists: Pick<AccessLists, 'restrict'>;
  readonly runtime: Pick<Runtime, 'clock' | 'timers'>;
}

/** A crash loop is slowed down, so that it does not fill the logs. */
const RESTART_DELAYS_MS = [2000, 10_000, 60_000];
/** The time for a stop by itself, at the end of the system, is at least this. */
const SHUTDOWN_MARGIN_MS = 30_000;
const POLL_MS = 250;
/** Time for a step of a start or stop, after which it counts as stuck. */
const STEP_LIMIT_MS = 60_000;
/** Time in which the last process of a removed service has ended. */
const REMOVAL_LIMIT_MS = 10_000;

const STATE_WORDS: Readonly<Record<number, string>> = {
  [SERVICE_STATES.STOPPED]: 'stopped',
  [SERVICE_STATES.START_PENDING]: 'starting',
  [SERVICE_STATES.STOP_PENDING]: 'stopping',
  [SERVICE_STATES.RUNNING]: 'running',
};

const ADVICE: Readonly<Record<number, string>> = {
  [ERRORS.ACCESS_DENIED]:
    'this needs the rights of an administrator: open the console by "Run as administrator"',
  [ERRORS.ALREADY_THERE]:
    'there is a service of this name: uninstall it first, or choose another name by --name',
  [ERRORS.LOGON_FAILED]:
    'its account cannot log on: correct the password, and allow the account "Log on as a service" (secpol.msc, Local Policies, User Rights Assignment)',
  [ERRORS.NO_SUCH_ACCOUNT]:
    'there is no such account, or its password is wrong: write DOMAIN\\USER, or .\\USER for one of this host',
  [ERRORS.NO_SUCH_SERVICE]: 'it is not installed: workbench-agent service install --config FILE',
  [ERRORS.MARKED_FOR_DELETE]:
    'it is being removed: close other programs that show services, such as services.msc, and try again',
};

export function windowsService(ports: WindowsServicePorts): HostService {
  const { name, calls, events, accessLists } = ports;
  const inWords = <T>(action: () => T): T => inWordsOf(name, action);
  const known = () => {
    const status = inWords(() => calls.status(name));
    if (status === undefined) throw new ServiceFault(`service ${name}: ${ADVICE[ERRORS.NO_SUCH_SERVICE]}`);
    return status;
  };

  const stop = async (): Promise<string> => {
    if (known().state === SERVICE_STATES.STOPPED) return `Service ${name} does not run.`;
    inWords(() => ignoring(ERRORS.NOT_RUNNING, () => calls.requestStop(name)));
    const status = await settled(ports, known, [SERVICE_STATES.STOPPED]);
    return `Service ${name} has stopped${exitOf(status)}.`;
  };

  return {
    async install(target, account) {
      const { dataDir, config } = target;
      const definition = definitionOf(name, target, account);
      const unknown = inWords(() => calls.create(definition));
      try {
        events.register();
        mkdirSync(dataDir, { recursive: true });
        const sid = serviceSid(name);
        accessLists.restrict(dataDir, 'folder', { [sid]: 'FA' });
        accessLists.restrict(config, 'file', { [sid]: 'FR' });
      } catch (error) {
        throw withFaults(faultOf(name, error), undo([() => calls.remove(name), () => events.unregister()]));
      }
      const limits = unknown.map((setting) => ` This Windows has no setting for: ${setting}.`);
      return `Service ${name} is installed and starts with the system; it runs as ${definition.account}. Only it and administrators may use ${dataDir} and ${config}. Start it now by "workbench-agent service start".${limits.join('')}`;
    },

    async uninstall() {
      await stop();
      inWords(() => {
        calls.remove(name);
        events.unregister();
      });
      const isGone = await removed(ports);
      const when = isGone ? '' : ' as soon as no program has it open, such as the list of services';
      return `Service ${name} is removed${when}; configuration and data folder stay.`;
    },

    async start() {
      const before = known();
      if (before.state === SERVICE_STATES.RUNNING)
        return `Service ${name} runs already (process ${before.pid}).`;
      inWords(() => ignoring(ERRORS.ALREADY_RUNNING, () => calls.start(name)));
      const status = await settled(ports, known, [SERVICE_STATES.RUNNING, SERVICE_STATES.STOPPED]);
      if (status.state !== SERVICE_STATES.RUNNING)
        throw new ServiceFault(
          `service ${name} ended at once${exitOf(status)}: the Event Viewer (Application, source ${name}) has the reason`,
        );
      return `Service ${name} runs (process ${status.pid}).`;
    },

    stop,

    status: async () => {
      const status = inWords(() => calls.status(name));
      if (status === undefined)
        return { isInstalled: false, isRunning: false, sentence: `Service ${name} is not installed.` };
      const isRunning = status.state === SERVICE_STATES.RUNNING;
      const process = status.pid === 0 ? '' : ` (process ${status.pid})`;
      const words = `${STATE_WORDS[status.state] ?? `in state ${status.state}`}${process}${exitOf(status)}`;
      return {
        isInstalled: true,
        isRunning,
        sentence: `Service ${name} is ${words}; its account is ${status.account}.`,
      };
    },
  };
}

function definitionOf(
  name: string,
  { program, config, stopTimeoutMs }: ServiceTarget,
  account: ServiceAccount | null,
): ServiceDefinition {
  return {
    name,
    displayName: name === SERVICE_NAME.DEFAULT ? 'Workbench agent' : `Workbench agent (${name})`,
    description: 'Holds workbench instances on this simulation host and joins a hub.',
    commandLine: `"${program}" --config "${config}" --service ${name}`,
    // By default, one that this service alone has, without a password.
    account: account?.name ?? `NT SERVICE\\${name}`,
    password: account?.password ?? null,
    restartDelaysMs: RESTART_DELAYS_MS,
    shutdownTimeoutMs: stopTimeoutMs + SHUTDOWN_MARGIN_MS,
  };
}

/** Waits for one of these states, as long as the service tells progress. */
async function settled(
  { name, runtime }: WindowsServicePorts,
  read: () => ServiceStatus,
  states: readonly number[],
): Promise<ServiceStatus> {
  let seen = '';
  let deadlineMs = 0;
  for (;;) {
    const status = read();
    if (states.includes(status.state)) return status;
    const step = `${status.state} ${status.checkpoint}`;
    if (step !== seen) deadlineMs = runtime.clock.monotonicMs() + STEP_LIMIT_MS;
    else if (runtime.clock.monotonicMs() > deadlineMs)
      throw new ServiceFault(
        `service ${name} is ${STATE_WORDS[status.state]} for ${STEP_LIMIT_MS / 1000} s without progress: look into its log`,
      );
    seen = step;
    await pause(runtime.timers, POLL_MS);
  }
}

/** Waits until Windows has no such service, which it has while a process of it, or another program, holds it. */
async function removed({ name, calls, runtime }: WindowsServicePorts): Promise<boolean> {
  const deadlineMs = runtime.clock.monotonicMs() + REMOVAL_LIMIT_MS;
  while (calls.status(name) !== undefined) {
    if (runtime.clock.monotonicMs() > deadlineMs) return false;
    await pause(runtime.timers, POLL_MS);
  }
  return true;
}

function exitOf({ state, exitCode, specificExitCode }: ServiceStatus): string {
  if (state !== SERVICE_STATES.STOPPED || exitCode === 0 || exitCode === NEVER_STARTED) return '';
  if (exitCode === ERRORS.SPECIFIC) return ` with exit code ${specificExitCode}`;
  return ` with error ${exitCode} of Windows`;
}

const NEVER_STARTED = 1077;

function ignoring(number: number, action: () => void): void {
  try {
    action();
  } catch (error) {
    if (!(error instanceof WindowsError && error.number === number)) throw error;
  }
}

/** Runs each step, also after one that failed; the messages of those that failed. */
function undo(steps: readonly (() => void)[]): readonly string[] {
  return steps.flatMap((step) => {
    try {
      step();
      return [];
    } catch (error) {
      return [messageOf(error)];
    }
  });
}

function withFaults(fault: unknown, ofUndoing: readonly string[]): unknown {
  if (ofUndoing.length === 0) return fault;
  return new ServiceFault(`${messageOf(fault)}; undoing failed as well: ${ofUndoing.join('; ')}`, {
    cause: fault,
  });
}

function inWordsOf<T>(name: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw faultOf(name, error);
  }
}

function faultOf(name: string, error: unknown): unknown {
  if (!(error instanceof WindowsError)) return error;
  return new ServiceFault(`service ${name}: ${ADVICE[error.number] ?? error.message}`, { cause: error });
}
