/**
 * The messages between an agent and an instance program: JSON-RPC 2.0, one message a line, UTF-8, over the
 * program's standard input and output. The agent calls, the program answers and notifies `output`. A call by the program is a
 * violation: its unread answers would pile up in the agent.
 *
 *   agent                           program
 *     | -- initialize ----------------> |  once, first; in version 1, the answer makes the instance ready
 *     | -- startInstance -------------> |  version 2 only: the answer makes this instance ready
 *     | -- simulateWork --------------> |  at most one of these two at a time for an instance
 *     | -- executeBatchJob -----------> |
 *     | <------------- output (note) -- |  what scripts print, while a job runs
 *     | <---------------- log (note) -- |  version 2 only: the program's own log, by instance
 *     | -- cancel --------------------> |  the running job then answers with error -32800
 *     | -- stopInstance --------------> |  version 2 only: ends the job of this instance, and the instance
 *     | -- shutdown ------------------> |  the program answers and exits with 0
 *
 * In version 2 a process serves any number of instances, and every message about a job or a log names its instance. The
 * agent offers it by `supportedVersions`, which programs of version 1 ignore; the program chooses in its answer.
 *
 * The end of standard input means the same as `shutdown` and wants no answer. The reference for authors of adapters
 * is packages/docs/instance-protocol.md.
 *
 * The schemas are Valibot's: it adds 5 ms to the start of a program and 1 MiB to its memory, a tenth of what larger libraries do.
 */
import * as v from 'valibot';
import { MAX_KIND_NAMES, MODEL_TYPE, SCRIPT_LANGUAGE } from '../domain/instance.js';

export { SCRIPT_LANGUAGE };

/** Version in which a process serves one instance. */
export const INSTANCE_PROTOCOL_VERSION = 1;

/** Version in which a process serves any number of instances. */
export const SHARED_PROTOCOL_VERSION = 2;

/** Maximum length of a line, which bounds the memory that a faulty program can consume. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024;

/** Error codes of responses. The first five are JSON-RPC's own. */
export const RPC_ERROR = {
  PARSE: -32700,
  INVALID_REQUEST: -32600,
  METHOD_NOT_FOUND: -32601,
  INVALID_PARAMS: -32602,
  INTERNAL: -32603,
  /** The job could not be run, for example because of an unreadable model; the message is shown to the task's owner. */
  JOB_FAILED: -32001,
  /** The job was canceled as requested. */
  CANCELED: -32800,
} as const;

const MAX_NAME_LENGTH = 200;
const MAX_REQUEST_ID_LENGTH = 200;
/** Characters (UTF-16 units) of the message of a result, or of an error, which is cut beyond. */
export const MAX_MESSAGE_LENGTH = 10_000;

const limitedString = (maxLength: number) => v.pipe(v.string(), v.maxLength(maxLength));

/** Strings by name. A record schema would drop names such as `__proto__`, which a variable may have. */
const stringsByName = v.pipe(
  v.custom<Record<string, string>>(isObject, 'Invalid type: Expected Object'),
  v.rawCheck(({ dataset, addIssue }) => {
    if (!dataset.typed) return;
    for (const [key, value] of Object.entries(dataset.value as Record<string, unknown>)) {
      const path = { type: 'object', origin: 'value', input: dataset.value, key, value } as const;
      if (typeof value !== 'string')
        addIssue({ message: 'Invalid type: Expected string', input: value, path: [path] });
    }
  }),
);

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const instance = v.object({
  id: v.string(),
  version: v.string(),
  revision: v.string(),
  labels: v.array(v.string()),
});
export type ServedInstanceProfile = v.InferOutput<typeof instance>;

/** Name of the instance that a message concerns; absent in version 1. */
const instanceId = v.optional(v.string());

export const initializeParams = v.object({
  protocolVersion: v.literal(INSTANCE_PROTOCOL_VERSION),
  /** Versions that the agent speaks; absent: version 1. */
  supportedVersions: v.optional(v.array(v.number())),
  /** The instance of the process in version 1, its first one in version 2. */
  instance,
});
export type InitializeParams = v.InferOutput<typeof initializeParams>;

const kindNames = (form: RegExp, toName: (text: string) => string = (text) => text) =>
  v.pipe(
    v.array(v.pipe(v.string(), v.transform(toName), v.regex(form))),
    v.maxLength(MAX_KIND_NAMES),
    v.transform((names) => [...new Set(names)].sort()),
  );

/** Kind of jobs that a program runs; a member that is absent restricts nothing. */
const jobKind = v.object({
  /** Types of models: the endings of their names, in any case. */
  models: v.optional(kindNames(MODEL_TYPE, (type) => type.toUpperCase())),
  /** Languages of scripts: `JavaScript`. */
  scripts: v.optional(kindNames(SCRIPT_LANGUAGE)),
  /** True: `executeBatchJob` may have `points`. False and absent: it may not. */
  points: v.optional(
    v.pipe(
      v.boolean(),
      v.transform((runs) => (runs ? true : undefined)),
    ),
  ),
});

export const initializeResult = v.object({
  protocolVersion: v.picklist([INSTANCE_PROTOCOL_VERSION, SHARED_PROTOCOL_VERSION]),
  /** True: each child process of the program is a script, which the program ends with its job. */
  startsScripts: v.optional(v.boolean()),
  /** Absent: the program does not say. */
  runs: v.optional(jobKind),
  /** Name of the program, for logs: `workbench-runner`. */
  name: limitedString(MAX_NAME_LENGTH),
  version: limitedString(MAX_NAME_LENGTH),
});
export type InitializeResult = v.InferOutput<typeof initializeResult>;

export const startInstanceParams = v.object({ instance });
export const stopInstanceParams = v.object({ instanceId: v.string() });

/** Id of the request that created the task, for logs; absent when the agent does not know it. */
const requestId = v.optional(limitedString(MAX_REQUEST_ID_LENGTH));

export const simulateWorkParams = v.object({
  instanceId,
  taskId: v.string(),
  requestId,
  durationMs: v.pipe(v.number(), v.safeInteger(), v.minValue(0)),
});
export type SimulateWorkParams = v.InferOutput<typeof simulateWorkParams>;

export const executeBatchJobParams = v.object({
  instanceId,
  taskId: v.string(),
  requestId,
  /** Absolute. Contains the additional files and the model; files that are new or changed in it afterwards are outputs. */
  workingDirectory: v.string(),
  /** Absolute paths of the scripts, outside the working directory, to be run in it one after the other. */
  scripts: v.pipe(v.array(v.string()), v.minLength(1)),
  /** Absolute path of the model, or null. */
  model: v.nullable(v.string()),
  variables: stringsByName,
  /** Additions to the environment of every script: injected variables that are allowed there, and WORKBENCH_*. */
  environment: stringsByName,
  /** Points of a study that this job runs one after the other, each with all scripts, and with these variables and this environment
   *  in addition. Only for programs that say that they run points; their results are lines of a file (domain/point-results.ts). */
  points: v.optional(
    v.pipe(
      v.array(
        v.object({
          number: v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
          variables: stringsByName,
          environment: stringsByName,
        }),
      ),
      v.minLength(1),
    ),
  ),
  /** Time limit of each point, which the program sees to. */
  pointLimitMs: v.optional(v.pipe(v.number(), v.safeInteger(), v.minValue(1))),
});
export type PointParams = NonNullable<v.InferOutput<typeof executeBatchJobParams>['points']>[number];
export type ExecuteBatchJobParams = v.InferOutput<typeof executeBatchJobParams>;

export const executeBatchJobResult = v.object({
  /** `OK`: all scripts succeeded. `ERROR`: one failed, and later ones were not run. */
  status: v.picklist(['OK', 'ERROR']),
  /** For `ERROR`: the failed script and the reason, for the task's owner. */
  message: v.optional(limitedString(MAX_MESSAGE_LENGTH)),
  /** False: the job has certainly started no process, so that none needs to be looked for. */
  startedProcesses: v.optional(v.boolean()),
});
export type ExecuteBatchJobResult = v.InferOutput<typeof executeBatchJobResult>;

export const cancelParams = v.object({ instanceId, taskId: v.string() });

export const outputParams = v.object({
  instanceId,
  taskId: v.string(),
  stream: v.picklist(['stdout', 'stderr']),
  text: v.string(),
});
export type OutputParams = v.InferOutput<typeof outputParams>;
export type OutputStream = OutputParams['stream'];

/** Text of the program's own log that concerns one instance. */
export const logParams = v.object({ instanceId: v.string(), text: v.string() });
export type LogParams = v.InferOutput<typeof logParams>;

/** An error response, of either side. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}
