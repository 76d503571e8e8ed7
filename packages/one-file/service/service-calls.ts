/** The service manager and the event log of Windows (advapi32.dll), by koffi. Sizes and places of fields are those of 64-bit Windows. */
import {
  type ForeignFunctions,
  type Handle,
  Structure,
  WindowsError,
  wideText,
} from '@workbench-hub/agent/process/windows/foreign-functions';

export const SERVICE_STATES = {
  STOPPED: 1,
  START_PENDING: 2,
  STOP_PENDING: 3,
  RUNNING: 4,
} as const;

/** Numbers of errors that callers distinguish. */
export const ERRORS = {
  ACCESS_DENIED: 5,
  FILE_NOT_FOUND: 2,
  INVALID_LEVEL: 124,
  LOGON_FAILED: 1069,
  ALREADY_RUNNING: 1056,
  NO_SUCH_ACCOUNT: 1057,
  NO_SUCH_SERVICE: 1060,
  NOT_RUNNING: 1062,
  NOT_STARTED_AS_SERVICE: 1063,
  SPECIFIC: 1066,
  MARKED_FOR_DELETE: 1072,
  ALREADY_THERE: 1073,
} as const;

export interface ServiceDefinition {
  readonly name: string;
  readonly displayName: string;
  readonly description: string;
  readonly commandLine: string;
  readonly account: string;
  readonly password: string | null;
  /** Pauses before the first, the second and each later restart after a failure. */
  readonly restartDelaysMs: readonly number[];
  /** Time for its stop when the system is shut down. */
  readonly shutdownTimeoutMs: number;
}

export interface ServiceStatus {
  readonly state: number;
  /** Exit code of Windows; {@link ERRORS.SPECIFIC} when the program has one of its own. */
  readonly exitCode: number;
  readonly specificExitCode: number;
  /** Grows while a start or stop makes progress. */
  readonly checkpoint: number;
  readonly pid: number;
  readonly account: string;
}

/** Every method but `status` throws {@link WindowsError}. */
export interface ServiceCalls {
  /** Creates a service that starts with the system. Returns what this Windows has no setting for. */
  create(definition: ServiceDefinition): string[];
  remove(name: string): void;
  start(name: string): void;
  requestStop(name: string): void;
  /** Undefined when there is no such service. */
  status(name: string): ServiceStatus | undefined;
}

const MANAGER_ACCESS = { CONNECT: 0x1, CREATE: 0x2 };
const SERVICE_ACCESS = {
  QUERY_CONFIG: 0x1,
  CHANGE_CONFIG: 0x2,
  QUERY_STATUS: 0x4,
  START: 0x10,
  STOP: 0x20,
  DELETE: 0x10000,
};
const OWN_PROCESS = 0x10;
const AUTO_START = 2;
const ERROR_NORMAL = 1;
const CONTROL_STOP = 1;
const RESTART = 1;
/** Failures are counted anew after a day without one. */
const RESET_S = 24 * 60 * 60;
const UNRESTRICTED_SID = 1;
const STATUS_BYTES = 36;
const CONFIG_BYTES = 8192;
const ACCOUNT_AT = 48;

/** Opens the functions; throws when that fails. */
export function serviceCalls(koffi: ForeignFunctions): ServiceCalls {
  const functions = functionsOf(koffi);
  const failed = (call: string) => new WindowsError(call, functions.GetLastError());

  const withManager = <T>(access: number, use: (manager: Handle) => T): T => {
    const manager: Handle | null = functions.OpenManager(null, null, access);
    if (manager === null) throw failed('OpenSCManager');
    try {
      return use(manager);
    } finally {
      functions.CloseServiceHandle(manager);
    }
  };
  const withService = <T>(name: string, access: number, use: (service: Handle) => T): T =>
    withManager(MANAGER_ACCESS.CONNECT, (manager) => {
      const service: Handle | null = functions.OpenService(manager, name, access);
      if (service === null) throw failed('OpenService');
      try {
        return use(service);
      } finally {
        functions.CloseServiceHandle(service);
      }
    });

  return {
    create: (definition) =>
      withManager(MANAGER_ACCESS.CONNECT | MANAGER_ACCESS.CREATE, (manager) => {
        const { name, displayName, commandLine, account, password } = definition;
        const access = SERVICE_ACCESS.CHANGE_CONFIG | SERVICE_ACCESS.START | SERVICE_ACCESS.DELETE;
        const kind = [OWN_PROCESS, AUTO_START, ERROR_NORMAL] as const;
        const none = [null, null, null] as const;
        const service: Handle | null = functions.CreateService(
          ...[manager, name, displayName, access, ...kind, commandLine, ...none, account, password],
        );
        if (service === null) throw failed('CreateService');
        try {
          return configure(functions, koffi, service, definition);
        } catch (error) {
          functions.DeleteService(service);
          throw error;
        } finally {
          functions.CloseServiceHandle(service);
        }
      }),

    remove: (name) =>
      withService(name, SERVICE_ACCESS.DELETE, (service) => {
        if (!functions.DeleteService(service)) throw failed('DeleteService');
      }),

    start: (name) =>
      withService(name, SERVICE_ACCESS.START, (service) => {
        if (!functions.StartService(service, 0, null)) throw failed('StartService');
      }),

    requestStop: (name) =>
      withService(name, SERVICE_ACCESS.STOP, (service) => {
        if (!functions.ControlService(service, CONTROL_STOP, Buffer.alloc(STATUS_BYTES)))
          throw failed('ControlService');
      }),

    status: (name) => {
      try {
        return withService(name, SERVICE_ACCESS.QUERY_STATUS | SERVICE_ACCESS.QUERY_CONFIG, (service) =>
          readStatus(functions, koffi, service),
        );
      } catch (error) {
        if (error instanceof WindowsError && error.number === ERRORS.NO_SUCH_SERVICE) return undefined;
        throw error;
      }
    },
  };
}

type Functions = ReturnType<typeof functionsOf>;

function functionsOf(koffi: ForeignFunctions) {
  const library = koffi.load('advapi32.dll');
  const of = (signature: string) => library.func(signature);
  return {
    GetLastError: koffi.load('kernel32.dll').func('uint32_t __stdcall GetLastError()'),
    OpenManager: of('void *__stdcall OpenSCManagerW(void *machine, void *database, uint32_t access)'),
    OpenService: of('void *__stdcall OpenServiceW(void *manager, str16 name, uint32_t access)'),
    CreateService: of(
      'void *__stdcall CreateServiceW(void *manager, str16 name, str16 display, uint32_t access, uint32_t type, uint32_t start, ' +
        'uint32_t error, str16 command, void *group, void *tag, void *dependencies, str16 account, str16 password)',
    ),
    Configure: of('bool __stdcall ChangeServiceConfig2W(void *service, uint32_t level, void *information)'),
    StartService: of('bool __stdcall StartServiceW(void *service, uint32_t count, void *arguments)'),
    ControlService: of('bool __stdcall ControlService(void *service, uint32_t control, void *status)'),
    QueryStatus: of(
      'bool __stdcall QueryServiceStatusEx(void *service, int level, void *into, uint32_t bytes, void *needed)',
    ),
    QueryConfig: of(
      'bool __stdcall QueryServiceConfigW(void *service, void *into, uint32_t bytes, void *needed)',
    ),
    DeleteService: of('bool __stdcall DeleteService(void *service)'),
    CloseServiceHandle: of('bool __stdcall CloseServiceHandle(void *handle)'),
  };
}

/** Settings beyond those of CreateService. The first is a must; Wine lacks some of the others. */
function configure(
  functions: Functions,
  koffi: ForeignFunctions,
  service: Handle,
  { description, restartDelaysMs, shutdownTimeoutMs }: ServiceDefinition,
): string[] {
  const structure = (size: number) => new Structure(koffi, size);
  const number = (value: number) => structure(4).number(0, value);
  const restarts = structure(8 * restartDelaysMs.length);
  for (const [index, delayMs] of restartDelaysMs.entries())
    restarts.number(8 * index, RESTART).number(8 * index + 4, delayMs);
  const levels: readonly (readonly [string, number, Structure])[] = [
    ['description', 1, structure(8).pointer(0, wideText(description))],
    [
      'restart after a failure',
      2,
      structure(40).number(0, RESET_S).number(24, restartDelaysMs.length).pointer(32, restarts.bytes),
    ],
    ['delayed start', 3, number(1)],
    ['restart after an exit code', 4, number(1)],
    ['identity of the service', 5, number(UNRESTRICTED_SID)],
    ['time for a stop at shutdown', 7, number(shutdownTimeoutMs)],
  ];
  return levels.flatMap(([setting, level, { bytes }]) => {
    if (functions.Configure(service, level, bytes)) return [];
    const error = new WindowsError(`ChangeServiceConfig2 (${setting})`, functions.GetLastError());
    if (error.number !== ERRORS.INVALID_LEVEL) throw error;
    return [setting];
  });
}

function readStatus(functions: Functions, koffi: ForeignFunctions, service: Handle): ServiceStatus {
  const status = Buffer.alloc(STATUS_BYTES);
  const needed = Buffer.alloc(4);
  if (!functions.QueryStatus(service, 0, status, status.length, needed))
    throw new WindowsError('QueryServiceStatusEx', functions.GetLastError());
  const config = Buffer.alloc(CONFIG_BYTES);
  if (!functions.QueryConfig(service, config, config.length, needed))
    throw new WindowsError('QueryServiceConfig', functions.GetLastError());
  const field = (index: number) => status.readUInt32LE(4 * index);
  return {
    state: field(1),
    exitCode: field(3),
    specificExitCode: field(4),
    checkpoint: field(5),
    pid: field(7),
    account: textInside(koffi, config, config.readBigUInt64LE(ACCOUNT_AT)),
  };
}

/** Text in a structure to which a pointer in it leads. */
function textInside(koffi: ForeignFunctions, structure: Buffer, pointer: bigint): string {
  if (pointer === 0n) return '';
  const [text = ''] = structure
    .subarray(Number(pointer - koffi.address(structure)))
    .toString('utf16le')
    .split('\0');
  return text;
}
