/** The agent's side of the instance protocol: typed calls to one instance program. */
import type { GenericSchema, InferOutput } from 'valibot';
import { ValidationError } from '../validation-error.js';
import { ProtocolViolation } from './framing.js';
import {
  type ExecuteBatchJobParams,
  type ExecuteBatchJobResult,
  executeBatchJobResult,
  type InitializeParams,
  type InitializeResult,
  initializeResult,
  type LogParams,
  logParams,
  type OutputParams,
  outputParams,
  type RpcError,
  type ServedInstanceProfile,
  type SimulateWorkParams,
} from './messages.js';
import { readAs } from './parse-message.js';
import { RpcPeer } from './peer.js';

export interface InstanceHost {
  /** Each call rejects with {@link RpcError} (an error of the program), {@link ProtocolViolation} (an invalid response) or the
   *  error given to `close`. */
  initialize(params: InitializeParams): Promise<InitializeResult>;
  /** In version 2 only, like {@link stopInstance}. */
  startInstance(instance: ServedInstanceProfile): Promise<void>;
  stopInstance(instanceId: string): Promise<void>;
  simulateWork(params: SimulateWorkParams): Promise<void>;
  executeBatchJob(params: ExecuteBatchJobParams): Promise<ExecuteBatchJobResult>;
  cancel(taskId: string, instanceId?: string): Promise<void>;
  shutdown(): Promise<void>;
  /** Handles one line of the program's standard output; throws {@link ProtocolViolation}. */
  receive(line: string): void;
  close(because: Error): void;
}

/** `send` writes one line to the program's standard input; `onOutput` gets the output of scripts, `onLog` the program's log by
 *  instance (version 2). */
export function instanceHost(
  send: (line: string) => void | Promise<void>,
  onOutput: (output: OutputParams) => void,
  onLog: (log: LogParams) => void = () => undefined,
): InstanceHost {
  const peer = new RpcPeer(send, {
    onRequest: (method) => {
      throw new ProtocolViolation(`a call of ${JSON.stringify(method)}: an agent has no methods`);
    },
    onNotification: (method, params) => {
      if (method === 'output') onOutput(checked(outputParams, params, 'the notification "output"'));
      else if (method === 'log') onLog(checked(logParams, params, 'the notification "log"'));
    },
  });
  const call = async <Schema extends GenericSchema>(method: string, params: unknown, result: Schema) =>
    checked(result, await peer.request(method, params), `the answer to "${method}"`);

  return {
    initialize: (params) => call('initialize', params, initializeResult),
    startInstance: async (instance) => void (await peer.request('startInstance', { instance })),
    stopInstance: async (instanceId) => void (await peer.request('stopInstance', { instanceId })),
    simulateWork: (params) => peer.request('simulateWork', params).then(checkDone),
    executeBatchJob: (params) => call('executeBatchJob', params, executeBatchJobResult),
    cancel: async (taskId, instanceId) => void (await peer.request('cancel', { instanceId, taskId })),
    shutdown: async () => void (await peer.request('shutdown', {})),
    receive: (line) => peer.receive(line),
    close: (because) => peer.close(because),
  };
}

function checkDone(answer: unknown): void {
  if (typeof answer !== 'object' || answer === null) {
    throw new ProtocolViolation('the answer to "simulateWork" is wrong: expected an object');
  }
}

function checked<Schema extends GenericSchema>(
  schema: Schema,
  value: unknown,
  what: string,
): InferOutput<Schema> {
  try {
    return readAs(schema, value);
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error;
    throw new ProtocolViolation(`${what} is wrong: ${error.path} ${error.message}`, { cause: error });
  }
}
