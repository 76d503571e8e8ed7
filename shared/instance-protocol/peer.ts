import { is } from 'valibot';
import { boundedText } from '../runtime/bounded-text.js';
import { messageOf } from '../runtime/message-of.js';
import { ProtocolViolation } from './framing.js';
import { MAX_MESSAGE_LENGTH, RPC_ERROR, RpcError } from './messages.js';
import { type RpcCall, type RpcId, rpcCall, rpcFailure, rpcResult } from './rpc-messages.js';

export interface PeerHandlers {
  /** Answers a call of the other side, directly or by a promise; undefined is sent as null. Throws {@link ProtocolViolation} where
   *  the other side may not call. A thrown {@link RpcError} is sent as it is, any other error as -32603. */
  onRequest(method: string, params: unknown): unknown;
  /** Handles a notification; throws {@link ProtocolViolation} for an invalid one. */
  onNotification(method: string, params: unknown): void;
}

interface PendingCall {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** One side of a JSON-RPC 2.0 conversation, over lines: `send` gets each line without its end. */
export class RpcPeer {
  readonly #send: (line: string) => void | Promise<void>;
  readonly #handlers: PeerHandlers;
  readonly #pending = new Map<RpcId, PendingCall>();
  #nextId = 1;
  #closedBecause: Error | undefined;

  constructor(send: (line: string) => void | Promise<void>, handlers: PeerHandlers) {
    this.#send = send;
    this.#handlers = handlers;
  }

  /** Calls the other side. Rejects with {@link RpcError} for an error response, or with the error given to {@link close} when
   *  the conversation ends first. */
  request(method: string, params: unknown): Promise<unknown> {
    if (this.#closedBecause) return Promise.reject(this.#closedBecause);
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#post({ jsonrpc: '2.0', id, method, params });
    });
  }

  /** Resolves when the transport has accepted the line, which holds back fast senders. */
  async notify(method: string, params: unknown): Promise<void> {
    await this.#send(JSON.stringify({ jsonrpc: '2.0', method, params }));
  }

  /** Handles one line of the other side; throws {@link ProtocolViolation} for an invalid message. */
  receive(line: string): void {
    const message = parse(line);
    if (is(rpcCall, message)) this.#called(message);
    else if (is(rpcResult, message)) this.#callThatWaits(message.id).resolve(message.result);
    else if (is(rpcFailure, message)) {
      const { code } = message.error;
      const reason = boundedText(message.error.message, MAX_MESSAGE_LENGTH);
      this.#callThatWaits(message.id, `: ${reason}`).reject(new RpcError(code, reason));
    } else throw noMessage(line);
  }

  /** Reports an invalid message to the other side, by an error without a call id. */
  complain(violation: ProtocolViolation): void {
    this.#post({ jsonrpc: '2.0', id: null, error: { code: RPC_ERROR.PARSE, message: violation.message } });
  }

  /** Ends the conversation: every pending call rejects with `because`. */
  close(because: Error): void {
    this.#closedBecause ??= because;
    for (const call of this.#pending.values()) call.reject(because);
    this.#pending.clear();
  }

  #called({ id, method, params }: RpcCall): void {
    if (id === undefined) {
      this.#handlers.onNotification(method, params);
      return;
    }
    const answer = (result: unknown) => this.#post({ jsonrpc: '2.0', id, result: result ?? null });
    const refuse = (thrown: unknown) => this.#post({ jsonrpc: '2.0', id, error: errorOf(thrown) });
    let result: unknown;
    try {
      result = this.#handlers.onRequest(method, params);
    } catch (thrown) {
      if (thrown instanceof ProtocolViolation) throw thrown;
      refuse(thrown);
      return;
    }
    if (result instanceof Promise) result.then(answer, refuse);
    else answer(result);
  }

  /** Removes and returns the answered call. */
  #callThatWaits(id: RpcId | null, why = ''): PendingCall {
    const call = id === null ? undefined : this.#pending.get(id);
    if (id === null || !call) {
      throw new ProtocolViolation(`an answer to no call of ours (id ${JSON.stringify(id)})${why}`);
    }
    this.#pending.delete(id);
    return call;
  }

  /** Sends a line in the background. A failed transport ends the conversation. */
  #post(message: object): void {
    const failed = (error: unknown) =>
      this.close(error instanceof Error ? error : new Error(messageOf(error)));
    try {
      this.#send(JSON.stringify(message))?.catch(failed);
    } catch (error) {
      failed(error);
    }
  }
}

function errorOf(thrown: unknown): { code: number; message: string } {
  if (thrown instanceof RpcError) return { code: thrown.code, message: thrown.message };
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return { code: RPC_ERROR.INTERNAL, message };
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (cause) {
    throw new ProtocolViolation(`only protocol messages may be on this stream, found ${quote(line)}`, {
      cause,
    });
  }
}

function noMessage(line: string): ProtocolViolation {
  return new ProtocolViolation(`not a JSON-RPC 2.0 message: ${quote(line)}`);
}

function quote(line: string): string {
  return JSON.stringify(line.length > 120 ? `${line.slice(0, 120)}…` : line);
}
