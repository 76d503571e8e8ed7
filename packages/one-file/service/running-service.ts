/** This process as a service of Windows. Its service manager calls from threads of its own; koffi brings the calls into the event loop. */
import {
  type ForeignFunctions,
  type Handle,
  Structure,
  WindowsError,
  wideText,
} from '@workbench-hub/agent/process/windows/foreign-functions';
import type { Runtime } from '@workbench-hub/shared/runtime/runtime';
import { ERRORS, SERVICE_STATES } from './service-calls.js';

const OWN_PROCESS = 0x10;
const CONTROLS = { STOP: 1, INTERROGATE: 4, SHUTDOWN: 5, PRESHUTDOWN: 15 };
/** Stop, shutdown, and the notice before the shutdown, which leaves more time. */
const ACCEPTED = 0x1 | 0x4 | 0x100;
const OK = 0;
const NOT_IMPLEMENTED = 120;
const STATUS_BYTES = 28;
const TABLE_BYTES = 32;

/** Period of the reports of a stop that goes on, and the time that each of them asks for. */
const PROGRESS_MS = 2000;
const HINT_MS = 20_000;

/** The functions with which a process is a service. */
export interface ServiceProcess {
  /** Calls `main` once the service manager has started the service, and resolves when it has stopped. Rejects when this process was not
   *  started by it. */
  dispatch(name: string, main: () => void): Promise<void>;
  /** Takes a function that is called with each request; it returns a number of an error. */
  takeControls(name: string, onControl: (control: number) => number): void;
  report(status: Status): void;
}

interface Status {
  readonly state: number;
  readonly accepted?: number;
  readonly exitCode?: number;
  readonly specificExitCode?: number;
  readonly checkpoint?: number;
  readonly hintMs?: number;
}

/** Opens the functions; throws when that fails. Once for each process. */
export function serviceProcess(koffi: ForeignFunctions): ServiceProcess {
  const library = koffi.load('advapi32.dll');
  const GetLastError = koffi.load('kernel32.dll').func('uint32_t __stdcall GetLastError()');
  koffi.proto('void __stdcall ServiceMain(uint32_t count, void *arguments)');
  koffi.proto(
    'uint32_t __stdcall ServiceHandler(uint32_t control, uint32_t event, void *data, void *context)',
  );
  const Dispatch = library.func('bool __stdcall StartServiceCtrlDispatcherW(void *table)');
  const Register = library.func(
    'void *__stdcall RegisterServiceCtrlHandlerExW(str16 name, ServiceHandler *handler, void *context)',
  );
  const SetStatus = library.func('bool __stdcall SetServiceStatus(void *service, void *status)');
  let service: Handle | null = null;
  return {
    dispatch(name, main) {
      const table = new Structure(koffi, TABLE_BYTES)
        .pointer(0, wideText(name))
        .address(8, koffi.register(main, 'ServiceMain *'));
      return new Promise((resolve, reject) => {
        // Blocks a thread of koffi as long as the service runs.
        Dispatch.async(table.bytes, (error: unknown, isDone: boolean) => {
          if (error || !isDone)
            reject(new WindowsError('StartServiceCtrlDispatcher', ERRORS.NOT_STARTED_AS_SERVICE));
          else resolve();
        });
      });
    },
    takeControls(name, onControl) {
      service = Register(name, koffi.register(onControl, 'ServiceHandler *'), null);
      if (service === null) throw new WindowsError('RegisterServiceCtrlHandlerEx', GetLastError());
    },
    report({ state, accepted = 0, exitCode = 0, specificExitCode = 0, checkpoint = 0, hintMs = 0 }) {
      const status = new Structure(koffi, STATUS_BYTES);
      const fields = [OWN_PROCESS, state, accepted, exitCode, specificExitCode, checkpoint, hintMs];
      for (const [index, value] of fields.entries()) status.number(4 * index, value);
      if (!SetStatus(service, status.bytes)) throw new WindowsError('SetServiceStatus', GetLastError());
    },
  };
}

/** A service that runs in this process. */
export interface RunningService {
  /** Tells the service manager that it has ended with this exit code; resolves when that lets the process end. */
  ended(exitCode: number): Promise<void>;
}

/** Becomes a service: calls `onStop` once when it is to stop, and tells then that the stop goes on until {@link RunningService.ended}. Rejects
 *  when this process was not started by the service manager. */
export function runService(
  name: string,
  process: ServiceProcess,
  { timers }: Pick<Runtime, 'timers'>,
  onStop: () => void,
): Promise<RunningService> {
  let isStopping = false;
  let hasEnded = false;
  const goOn = (checkpoint: number) => {
    if (hasEnded) return;
    process.report({ state: SERVICE_STATES.STOP_PENDING, checkpoint, hintMs: HINT_MS });
    timers.after(PROGRESS_MS, () => goOn(checkpoint + 1));
  };
  const onControl = (control: number) => {
    if (control === CONTROLS.INTERROGATE) return OK;
    if (![CONTROLS.STOP, CONTROLS.SHUTDOWN, CONTROLS.PRESHUTDOWN].includes(control)) return NOT_IMPLEMENTED;
    if (isStopping) return OK;
    isStopping = true;
    goOn(1);
    onStop();
    return OK;
  };
  return new Promise((resolve, reject) => {
    const dispatched = process.dispatch(name, () => {
      try {
        process.takeControls(name, onControl);
        process.report({ state: SERVICE_STATES.RUNNING, accepted: ACCEPTED });
        resolve({
          async ended(exitCode) {
            hasEnded = true;
            const exit = exitCode === OK ? {} : { exitCode: ERRORS.SPECIFIC, specificExitCode: exitCode };
            process.report({ state: SERVICE_STATES.STOPPED, ...exit });
            await dispatched;
          },
        });
      } catch (error) {
        reject(error as Error);
      }
    });
    dispatched.catch(reject);
  });
}
