/** The agent's end of the instance protocol: typed calls to one instance program. */
import type { z } from 'zod';
import { ProtocolViolation } from './framing.js';
import {
  type ExecuteBatchJobParams,
  type ExecuteBatchJobResult,
  executeBatchJobResult,
  type InitializeParams,
  type InitializeResult,
  initializeResult,
  type OutputParams,
  outputParams,
  RPC_ERROR,
  RpcError,
  type SimulateWorkParams,
} from './messages.js';
import { RpcPeer } from './peer.js';

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
      onOutput(checked(outputParams, params, 'the notification "output"'));
    },
  });
  const call = <T>(method: string, params: unknown, result: z.ZodType<T>): Promise<T> =>
    peer.request(method, params).then((answer) => checked(result, answer, `the answer to "${method}"`));

  return {
    initialize: (params) => call('initialize', params, initializeResult),
    simulateWork: (params) => peer.request('simulateWork', params).then(checkDone),
    executeBatchJob: (params) => call('executeBatchJob', params, executeBatchJobResult),
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

function checked<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  throw new ProtocolViolation(`${what} is wrong: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`);
}
