/** The launcher as a service of Windows. */
import { loadKoffi } from '@workbench-hub/agent/process/windows/load-koffi';
import { messageOf } from '@workbench-hub/shared/runtime/message-of';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { unpackInto } from '@workbench-hub/shared/runtime/unpacked-parts';
import type { Launcher } from '../launcher.js';
import { EVENTS, type EventLog, eventLog } from './event-log.js';
import { runService, type ServiceProcess, serviceProcess } from './running-service.js';

const OK = 0;
const CRASHED = 1;
/** Characters of the end of an agent's output in an event. */
const OUTPUT_LENGTH = 4000;

type ServiceLauncher = Pick<Launcher, 'run' | 'stop' | 'lastLog'>;

export interface ServicePorts {
  readonly service: ServiceProcess;
  readonly events: Pick<EventLog, 'report'>;
  readonly runtime: Pick<Runtime, 'timers'>;
}

/**
 * Becomes the service and runs the launcher; resolves with the exit code of this process. Windows' functions are unpacked into
 * `parts`, a folder that the account of the service may write, and other users may not.
 */
export async function runLauncherAsService(
  name: string,
  parts: string,
  open: (note: (sentence: string) => void) => Promise<ServiceLauncher>,
): Promise<number> {
  unpackInto(parts);
  const koffi = await loadKoffi();
  const ports = { service: serviceProcess(koffi), events: eventLog(koffi, name), runtime: systemRuntime };
  return serveLauncher(name, ports, open);
}

/** As {@link runLauncherAsService}, with these functions of Windows. */
export async function serveLauncher(
  name: string,
  ports: ServicePorts,
  open: (note: (sentence: string) => void) => Promise<ServiceLauncher>,
): Promise<number> {
  let launcher: ServiceLauncher | undefined;
  let isStopping = false;
  const { events, runtime } = ports;
  const service = await runService(name, ports.service, runtime, () => {
    isStopping = true;
    launcher?.stop();
  }).catch((error: unknown) => {
    process.stderr.write(
      `--service is for the service manager of Windows (${messageOf(error)}); use "workbench-agent service start"\n`,
    );
    return undefined;
  });
  if (service === undefined) return CRASHED;
  const exitCode = await run(async () => {
    launcher = await open((sentence) => events.report(EVENTS.VERSION, sentence));
    if (isStopping) return OK;
    events.report(EVENTS.STARTED, `The agent starts (service ${name}).`);
    return launcher.run();
  }, events);
  if (exitCode === OK) events.report(EVENTS.STOPPED, `The agent has stopped (service ${name}).`);
  else {
    const output = launcher?.lastLog.slice(-OUTPUT_LENGTH) ?? '';
    events.report(
      EVENTS.FAILED,
      `The agent has ended with exit code ${exitCode} (service ${name}).${output === '' ? '' : `\n\n${output}`}`,
    );
  }
  await service.ended(exitCode);
  return exitCode;
}

async function run(action: () => Promise<number>, events: Pick<EventLog, 'report'>): Promise<number> {
  try {
    return await action();
  } catch (error) {
    events.report(EVENTS.FAILED, `The agent cannot be started: ${messageOf(error)}`);
    return CRASHED;
  }
}
