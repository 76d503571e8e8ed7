/** Functions of Windows (kernel32.dll and ntdll.dll) that this folder calls, by koffi. Sizes and places of fields are those of 64-bit
 *  Windows. */
import { cpus } from 'node:os';
import type { ResourceLimits } from '../../core/resource-limits.js';
import { type ForeignFunctions, type Handle, WindowsError } from './foreign-functions.js';

export interface SystemCalls {
  /** Creates a job object whose processes end with its last handle, and together use no more than the limits. Throws with the number of
   *  the error. */
  createJob(limits: ResourceLimits | null): Handle;
  /** Puts a process into a job object, with everything that it starts from now on. False when the process has ended. */
  assign(job: Handle, pid: number): boolean;
  /** Puts this process into a job object. */
  assignSelf(job: Handle): void;
  /** Ids of the processes in a job object and in those below it. */
  membersOf(job: Handle): number[];
  terminateJob(job: Handle): void;
  close(handle: Handle): void;
  /** Time at which a process was created, in units of 100 ns, which distinguishes it from a later one with the same id. Undefined when
   *  there is none, or it has ended. */
  creationTimeOf(pid: number): bigint | undefined;
  /** Ends the process that was created at a time, and no other with its id; false when it has ended. */
  terminate(pid: number, creationTime: bigint): boolean;
  /** Ids of all processes, with those of the processes that started them, which may have ended. */
  processes(): { readonly pid: number; readonly parentPid: number }[];
  /** Environment of a process as `NAME=value` texts; undefined where it cannot be read. */
  environmentOf(pid: number): string[] | undefined;
}

const ACCESS = { TERMINATE: 0x1, SET_QUOTA: 0x100, READ_MEMORY: 0x10, QUERY: 0x400, QUERY_LIMITED: 0x1000 };
const STILL_ACTIVE = 259;
const EXIT_CODE = 1;

const JOB_LIMITS = {
  ...{ class: 9, bytes: 144, flagsAt: 16, memoryAt: 120 },
  ...{ killOnClose: 0x2000, memory: 0x200 },
};
/** A part of all processors, in 1/10,000, that is never exceeded. */
const JOB_PROCESSORS = { class: 15, bytes: 8, flags: 0x1 | 0x4, partAt: 4, whole: 10_000 };
const JOB_PROCESSES = { class: 3, countAt: 4, listAt: 8, idBytes: 8 };
/** Number of processes in a job object for which there is room at first. */
const ROOM = 256;
const MOST_ROOM = 2 ** 20;

const SNAPSHOT_OF_PROCESSES = 0x2;
const PROCESS_ENTRY = { bytes: 568, pidAt: 8, parentPidAt: 32 };

const BASIC_INFORMATION = { class: 0, bytes: 48, processBlockAt: 8 };
const PARAMETERS_AT = 0x20n;
const ENVIRONMENT_AT = 0x80n;
const ENVIRONMENT_BYTES_AT = 0x3f0n;
const MOST_ENVIRONMENT_BYTES = 2 ** 20;

/** Opens the functions; throws when that fails. */
export function systemCalls(koffi: ForeignFunctions): SystemCalls {
  const functions = functionsOf(koffi);
  return {
    ...jobCalls(functions),
    ...processCalls(functions),
    close: (handle) => functions.CloseHandle(handle),
  };
}

type Functions = ReturnType<typeof functionsOf>;

function functionsOf(koffi: ForeignFunctions) {
  const kernel = koffi.load('kernel32.dll');
  const system = koffi.load('ntdll.dll');
  const of = (signature: string) => kernel.func(signature);
  return {
    GetLastError: of('uint32_t __stdcall GetLastError()'),
    CloseHandle: of('bool __stdcall CloseHandle(void *handle)'),
    CreateJobObject: of('void *__stdcall CreateJobObjectW(void *security, void *name)'),
    SetInformationJobObject: of(
      'bool __stdcall SetInformationJobObject(void *job, int kind, void *limits, uint32_t bytes)',
    ),
    QueryInformationJobObject: of(
      'bool __stdcall QueryInformationJobObject(void *job, int kind, void *into, uint32_t bytes, void *needed)',
    ),
    AssignProcessToJobObject: of('bool __stdcall AssignProcessToJobObject(void *job, void *process)'),
    TerminateJobObject: of('bool __stdcall TerminateJobObject(void *job, uint32_t exitCode)'),
    OpenProcess: of('void *__stdcall OpenProcess(uint32_t access, bool inherited, uint32_t pid)'),
    GetCurrentProcess: of('void *__stdcall GetCurrentProcess()'),
    GetProcessTimes: of(
      'bool __stdcall GetProcessTimes(void *process, void *created, void *ended, void *kernel, void *user)',
    ),
    GetExitCodeProcess: of('bool __stdcall GetExitCodeProcess(void *process, void *exitCode)'),
    TerminateProcess: of('bool __stdcall TerminateProcess(void *process, uint32_t exitCode)'),
    ReadProcessMemory: of(
      'bool __stdcall ReadProcessMemory(void *process, uint64_t address, void *into, uint64_t bytes, void *read)',
    ),
    CreateSnapshot: of('void *__stdcall CreateToolhelp32Snapshot(uint32_t flags, uint32_t pid)'),
    FirstProcess: of('bool __stdcall Process32FirstW(void *snapshot, void *entry)'),
    NextProcess: of('bool __stdcall Process32NextW(void *snapshot, void *entry)'),
    QueryInformationProcess: system.func(
      'int32_t __stdcall NtQueryInformationProcess(void *process, int kind, void *into, uint32_t bytes, void *needed)',
    ),
  };
}

/** Structures for SetInformationJobObject, each with its class. */
export function jobLimits(limits: ResourceLimits | null, processorsOfHost: number): [number, Buffer][] {
  const { memoryBytes = null, processors = null } = limits ?? {};
  const extended = Buffer.alloc(JOB_LIMITS.bytes);
  const flags = JOB_LIMITS.killOnClose | (memoryBytes === null ? 0 : JOB_LIMITS.memory);
  extended.writeUInt32LE(flags, JOB_LIMITS.flagsAt);
  extended.writeBigUInt64LE(BigInt(memoryBytes ?? 0), JOB_LIMITS.memoryAt);
  if (processors === null) return [[JOB_LIMITS.class, extended]];
  const part = Buffer.alloc(JOB_PROCESSORS.bytes);
  part.writeUInt32LE(JOB_PROCESSORS.flags, 0);
  const { whole } = JOB_PROCESSORS;
  part.writeUInt32LE(
    Math.min(whole, Math.max(1, Math.round((processors / processorsOfHost) * whole))),
    JOB_PROCESSORS.partAt,
  );
  return [
    [JOB_LIMITS.class, extended],
    [JOB_PROCESSORS.class, part],
  ];
}

function jobCalls(functions: Functions) {
  const failed = (call: string) => new WindowsError(call, functions.GetLastError());

  const assignHandle = (job: Handle, process: Handle) => {
    if (!functions.AssignProcessToJobObject(job, process)) throw failed('AssignProcessToJobObject');
  };
  return {
    createJob(limits: ResourceLimits | null): Handle {
      const job: Handle | null = functions.CreateJobObject(null, null);
      if (job === null) throw failed('CreateJobObject');
      for (const [kind, values] of jobLimits(limits, cpus().length)) {
        if (functions.SetInformationJobObject(job, kind, values, values.length)) continue;
        const error = failed('SetInformationJobObject');
        functions.CloseHandle(job);
        throw error;
      }
      return job;
    },

    assign(job: Handle, pid: number): boolean {
      const access = ACCESS.TERMINATE | ACCESS.SET_QUOTA | ACCESS.QUERY_LIMITED;
      return (
        withProcess(functions, pid, access, (process) => {
          if (!isRunning(functions, process)) return false;
          assignHandle(job, process);
          return true;
        }) ?? false
      );
    },

    assignSelf: (job: Handle) => assignHandle(job, functions.GetCurrentProcess()),

    membersOf(job: Handle): number[] {
      for (let room = ROOM; room <= MOST_ROOM; room *= 4) {
        const list = Buffer.alloc(JOB_PROCESSES.listAt + room * JOB_PROCESSES.idBytes);
        // It fails when there are more.
        if (!functions.QueryInformationJobObject(job, JOB_PROCESSES.class, list, list.length, null)) continue;
        const count = list.readUInt32LE(JOB_PROCESSES.countAt);
        return Array.from({ length: count }, (_, index) =>
          Number(list.readBigUInt64LE(JOB_PROCESSES.listAt + index * JOB_PROCESSES.idBytes)),
        );
      }
      throw failed('QueryInformationJobObject');
    },

    terminateJob(job: Handle): void {
      if (!functions.TerminateJobObject(job, EXIT_CODE)) throw failed('TerminateJobObject');
    },
  };
}

function processCalls(functions: Functions) {
  return {
    creationTimeOf: (pid: number): bigint | undefined =>
      withProcess(functions, pid, ACCESS.QUERY_LIMITED, (process) =>
        isRunning(functions, process) ? creationTime(functions, process) : undefined,
      ),

    // The handle keeps the id from being used again.
    terminate: (pid: number, created: bigint): boolean =>
      withProcess(functions, pid, ACCESS.TERMINATE | ACCESS.QUERY_LIMITED, (process) => {
        if (!isRunning(functions, process) || creationTime(functions, process) !== created) return false;
        return functions.TerminateProcess(process, EXIT_CODE) as boolean;
      }) ?? false,

    processes(): { pid: number; parentPid: number }[] {
      const snapshot: Handle = functions.CreateSnapshot(SNAPSHOT_OF_PROCESSES, 0);
      const entry = Buffer.alloc(PROCESS_ENTRY.bytes);
      entry.writeUInt32LE(PROCESS_ENTRY.bytes, 0);
      const found: { pid: number; parentPid: number }[] = [];
      try {
        for (
          let more = functions.FirstProcess(snapshot, entry);
          more;
          more = functions.NextProcess(snapshot, entry)
        )
          found.push({
            pid: entry.readUInt32LE(PROCESS_ENTRY.pidAt),
            parentPid: entry.readUInt32LE(PROCESS_ENTRY.parentPidAt),
          });
      } finally {
        functions.CloseHandle(snapshot);
      }
      return found;
    },

    environmentOf: (pid: number): string[] | undefined =>
      withProcess(functions, pid, ACCESS.QUERY | ACCESS.READ_MEMORY, (process) =>
        environment(functions, process),
      ),
  };
}

/** Undefined when there is no such process, or it belongs to another user. */
function withProcess<T>(
  functions: Functions,
  pid: number,
  access: number,
  use: (process: Handle) => T,
): T | undefined {
  const process: Handle | null = functions.OpenProcess(access, false, pid);
  if (process === null) return undefined;
  try {
    return use(process);
  } finally {
    functions.CloseHandle(process);
  }
}

/** False for one that has ended, which exists as long as somebody has a handle of it. */
function isRunning(functions: Functions, process: Handle): boolean {
  const code = Buffer.alloc(4);
  return functions.GetExitCodeProcess(process, code) && code.readUInt32LE(0) === STILL_ACTIVE;
}

function creationTime(functions: Functions, process: Handle): bigint | undefined {
  const [created, ended, kernel, user] = [Buffer.alloc(8), Buffer.alloc(8), Buffer.alloc(8), Buffer.alloc(8)];
  return functions.GetProcessTimes(process, created, ended, kernel, user)
    ? (created as Buffer).readBigUInt64LE(0)
    : undefined;
}

/** The environment block, which the process block of a process leads to. */
function environment(functions: Functions, process: Handle): string[] | undefined {
  const read = (address: bigint, bytes: number): Buffer | undefined => {
    const into = Buffer.alloc(bytes);
    return functions.ReadProcessMemory(process, address, into, bytes, null) ? into : undefined;
  };
  const about = Buffer.alloc(BASIC_INFORMATION.bytes);
  if (functions.QueryInformationProcess(process, BASIC_INFORMATION.class, about, about.length, null) !== 0)
    return undefined;
  const block = about.readBigUInt64LE(BASIC_INFORMATION.processBlockAt);
  const parameters = read(block + PARAMETERS_AT, 8)?.readBigUInt64LE(0);
  // It is being set up.
  if (!parameters) return undefined;
  const place = read(parameters + ENVIRONMENT_AT, 8)?.readBigUInt64LE(0);
  const bytes = Number(read(parameters + ENVIRONMENT_BYTES_AT, 8)?.readBigUInt64LE(0) ?? 0n);
  if (!place || bytes === 0 || bytes > MOST_ENVIRONMENT_BYTES) return undefined;
  return read(place, bytes)?.toString('utf16le').split('\0').filter(Boolean);
}
