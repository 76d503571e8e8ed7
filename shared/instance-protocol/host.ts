/** The agent's end of the instance protocol: typed calls to one instance program. */
import { ShapeFault } from '../shape.js';
import { ProtocolViolation } from './framing.js';
import {
  type ExecuteBatchJobParams,
  type ExecuteBatchJobResult,
  type InitializeParams,
  type InitializeResult,
  type OutputParams,
  RPC_ERROR,
  RpcError,
  type SimulateWorkParams,
} from './messages.js';
import { RpcPeer } from './peer.js';
import { readExecuteBatchJobResult, readInitializeResult, readOutputParams } from './reading.js';

export interface InstanceHost {
  /** Each call rejects with {@link RpcError} (the program's own error), {@link ProtocolViolation} (an answer that is
   *  none) or the error given to `close`. */
  initialize(params: InitializeParams): Promise<InitializeResult>;
  simulateWork(params: SimulateWorkParams): Promise<void>;
  executeBatchJob(params: ExecuteBatchJobParams): Promise<ExecuteBatchJobResult>;
  cancel(taskId: string): Promise<void>;
  shutdown(): Promise<void>;
  /** Takes one line of the program's standard output; throws {@link ProtocolViolation}. */
  receive(line: string): void;
  close(because: Error): void;
}

/** `send` writes one line to the program's standard input; `onOutput` gets what scripts print. */
export function instanceHost(
  send: (line: string) => void | Promise<void>,
  onOutput: (output: OutputParams) => void,
): InstanceHost {
  const peer = new RpcPeer(send, {
    onRequest: (method) => {
      throw new RpcError(RPC_ERROR.METHOD_NOT_FOUND, `an agent has no method ${JSON.stringify(method)}`);
    },
    onNotification: (method, params) => {
      if (method !== 'output') return;
      onOutput(checked(readOutputParams, params, 'the notification "output"'));
    },
  });
  const call = <T>(method: string, params: unknown, read: (answer: unknown) => T): Promise<T> =>
    peer.request(method, params).then((answer) => checked(read, answer, `the answer to "${method}"`));

  return {
    initialize: (params) => call('initialize', params, readInitializeResult),
    simulateWork: (params) => peer.request('simulateWork', params).then(checkDone),
    executeBatchJob: (params) => call('executeBatchJob', params, readExecuteBatchJobResult),
    cancel: async (taskId) => void (await peer.request('cancel', { taskId })),
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

function checked<T>(read: (value: unknown) => T, value: unknown, what: string): T {
  try {
    return read(value);
  } catch (error) {
    if (!(error instanceof ShapeFault)) throw error;
    throw new ProtocolViolation(`${what} is wrong: ${error.path} ${error.message}`, { cause: error });
  }
}
