/** A server that receives webhooks, and answers them as a test says. */
import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { eventually } from '../eventually.js';

export interface ReceivedWebhook {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The task in the body. */
  readonly task: Readonly<Record<string, unknown>>;
}

export type Respond = (response: ServerResponse, received: ReceivedWebhook) => void;

export class WebhookReceiver {
  readonly received: ReceivedWebhook[] = [];
  /** By default, 204. */
  respond: Respond = (response) => response.writeHead(204).end();
  readonly #server;
  readonly #scheme: string;

  private constructor(tls: { readonly cert: string; readonly key: string } | null) {
    const listener: RequestListener = async (request, response) => {
      response.on('error', () => undefined);
      const chunks: Buffer[] = [];
      try {
        for await (const chunk of request) chunks.push(chunk as Buffer);
      } catch {
        return; // the hub has left
      }
      const body = Buffer.concat(chunks).toString();
      const { url: path = '', headers } = request;
      const received = { path, headers, body, task: taskIn(body) };
      this.received.push(received);
      this.respond(response, received);
    };
    this.#server = tls ? createTlsServer(tls, listener) : createServer(listener);
    this.#scheme = tls ? 'https' : 'http';
  }

  static async listen({
    tls = null,
    port = 0,
  }: {
    tls?: { readonly cert: string; readonly key: string } | null;
    port?: number;
  } = {}): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver(tls);
    await new Promise<void>((resolve) => receiver.#server.listen(port, '127.0.0.1', resolve));
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** `http://127.0.0.1:49152` */
  get origin(): string {
    return `${this.#scheme}://127.0.0.1:${this.port}`;
  }

  /** The first so many webhooks about a task. */
  async hear(taskId: unknown, count = 1, withinMs = 20_000): Promise<ReceivedWebhook[]> {
    return eventually(() => {
      const heard = this.received.filter(({ task }) => task['id'] === taskId);
      return heard.length >= count && heard;
    }, withinMs);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function taskIn(body: string): Readonly<Record<string, unknown>> {
  try {
    return (JSON.parse(body) as { data: Record<string, unknown> }).data;
  } catch {
    return {};
  }
}
