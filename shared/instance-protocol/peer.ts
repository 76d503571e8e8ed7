import { ProtocolViolation } from './framing.js';
import { RPC_ERROR, RpcError, type RpcId, rpcMessage } from './messages.js';

export interface PeerHandlers {
  /** Answers a call of the other side. A thrown {@link RpcError} is answered as it is, anything else as -32603. */
  onRequest(method: string, params: unknown): Promise<unknown>;
  /** Takes a notification; throws {@link ProtocolViolation} for one that is wrong. */
  onNotification(method: string, params: unknown): void;
}

interface PendingCall {
  resolve(result: unknown): void;
  reject(error: Error): void;
}

/** One end of a JSON-RPC 2.0 conversation. It knows lines, not streams: `send` is given each line without its end. */
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

  /** Calls the other side. Rejects with {@link RpcError} when it answers with an error, or with the error given to
   *  {@link close} when the conversation ends first. */
  request(method: string, params: unknown): Promise<unknown> {
    if (this.#closedBecause) return Promise.reject(this.#closedBecause);
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#post({ jsonrpc: '2.0', id, method, params });
    });
  }

  /** Resolves when the transport has taken the line, so that a sender of much can wait. */
  async notify(method: string, params: unknown): Promise<void> {
    await this.#send(JSON.stringify({ jsonrpc: '2.0', method, params }));
  }

  /** Takes one line from the other side; throws {@link ProtocolViolation} when it is no message. */
  receive(line: string): void {
    const message = parse(line);
    if ('method' in message) {
      const { id, method, params } = message;
      if (id === undefined) this.#handlers.onNotification(method, params);
      else void this.#answer(method, params).then((answer) => this.#post({ jsonrpc: '2.0', id, ...answer }));
      return;
    }
    const call = message.id === null ? undefined : this.#pending.get(message.id);
    if (message.id === null || !call) {
      const why = 'error' in message ? `: ${message.error.message}` : '';
      throw new ProtocolViolation(`an answer to no call of ours (id ${JSON.stringify(message.id)})${why}`);
    }
    this.#pending.delete(message.id);
    if ('error' in message) call.reject(new RpcError(message.error.code, message.error.message));
    else call.resolve(message.result);
  }

  /** Tells the other side that what it sent could not be taken: an error that answers no particular call. */
  complain(violation: ProtocolViolation): void {
    this.#post({ jsonrpc: '2.0', id: null, error: { code: RPC_ERROR.PARSE, message: violation.message } });
  }

  /** Ends the conversation: every call that waits is rejected with `because`. */
  close(because: Error): void {
    this.#closedBecause ??= because;
    for (const call of this.#pending.values()) call.reject(because);
    this.#pending.clear();
  }

  /** Sends what nobody waits for. A transport that fails has ended the conversation. */
  #post(message: object): void {
    const sent = (async () => this.#send(JSON.stringify(message)))();
    sent.catch((error: unknown) => this.close(error instanceof Error ? error : new Error(String(error))));
  }

  async #answer(method: string, params: unknown): Promise<{ result: unknown } | { error: object }> {
    try {
      return { result: (await this.#handlers.onRequest(method, params)) ?? null };
    } catch (thrown) {
      if (thrown instanceof RpcError) return { error: { code: thrown.code, message: thrown.message } };
      const message = thrown instanceof Error ? thrown.message : String(thrown);
      return { error: { code: RPC_ERROR.INTERNAL, message } };
    }
  }
}

function parse(line: string) {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (cause) {
    throw new ProtocolViolation(`only protocol messages may be on this stream, found ${quote(line)}`, {
      cause,
    });
  }
  const message = rpcMessage.safeParse(value);
  if (!message.success) throw new ProtocolViolation(`not a JSON-RPC 2.0 message: ${quote(line)}`);
  return message.data;
}

function quote(line: string): string {
  return JSON.stringify(line.length > 120 ? `${line.slice(0, 120)}…` : line);
}
