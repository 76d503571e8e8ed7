/** The inspector of a Node.js process, which listens when the process was started with {@link INSPECTED}, and those of its threads. */
import { once } from 'node:events';
import { WebSocket } from 'ws';

/** Environment of a process that is to be inspected, on a port that it finds free. */
export const INSPECTED = { NODE_OPTIONS: '--inspect=127.0.0.1:0' };

/** One thread of the process. */
export interface InspectedThread {
  /** `main`, or the file of the thread. */
  readonly name: string;
  /** Calls a method of the inspector's protocol; `onEvent` hears the events until it has ended. */
  call(method: string, params?: object, onEvent?: (event: InspectorEvent) => void): Promise<void>;
}

export interface InspectorEvent {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

export interface Inspector {
  readonly threads: readonly InspectedThread[];
  close(): void;
}

/** The address that a process started with {@link INSPECTED} has printed. */
export function inspectorAddress(printed: readonly string[]): string | undefined {
  for (const line of printed) {
    const found = /^Debugger listening on (ws:\S+)$/.exec(line)?.[1];
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Connects to the inspector at this address, and to all threads that the process has now. */
export async function openInspector(address: string): Promise<Inspector> {
  const socket = new WebSocket(address, { perMessageDeflate: false, maxPayload: 0 });
  await once(socket, 'open');
  const main = threadOver('main', (message) => socket.send(message));
  const threads = new Map<string, ReturnType<typeof threadOver>>();
  socket.on('message', (data) => main.receive(String(data)));
  socket.on('close', () => {
    for (const thread of [main, ...threads.values()]) thread.end();
  });
  main.hear(({ method, params }) => {
    if (method === 'NodeWorker.receivedMessageFromWorker')
      threads.get(String(params['sessionId']))?.receive(String(params['message']));
    if (method !== 'NodeWorker.attachedToWorker') return;
    const { url } = params['workerInfo'] as { url: string };
    const sessionId = String(params['sessionId']);
    const send = (message: string) =>
      void main.call('NodeWorker.sendMessageToWorker', { sessionId, message }).catch(() => undefined);
    threads.set(sessionId, threadOver(url.replace(/^.*[/]/, ''), send));
  });
  await main.call('NodeWorker.enable', { waitForDebuggerOnStart: false });
  return { threads: [main, ...threads.values()], close: () => socket.close() };
}

function threadOver(name: string, send: (message: string) => void) {
  const waiting = new Map<number, { resolve(): void; reject(error: Error): void }>();
  const listeners = new Set<(event: InspectorEvent) => void>();
  let last = 0;
  return {
    name,
    hear: (listener: (event: InspectorEvent) => void) => void listeners.add(listener),
    call: async (method: string, params: object = {}, onEvent?: (event: InspectorEvent) => void) => {
      const id = ++last;
      if (onEvent) listeners.add(onEvent);
      try {
        await new Promise<void>((resolve, reject) => {
          waiting.set(id, { resolve, reject });
          send(JSON.stringify({ id, method, params }));
        });
      } finally {
        if (onEvent) listeners.delete(onEvent);
        waiting.delete(id);
      }
    },
    receive: (text: string) => {
      const message = JSON.parse(text) as Partial<InspectorEvent> & {
        id?: number;
        error?: { message: string };
      };
      if (message.id === undefined) {
        for (const listener of listeners) listener(message as InspectorEvent);
        return;
      }
      const { resolve, reject } = waiting.get(message.id) ?? {};
      if (message.error) reject?.(new Error(message.error.message));
      else resolve?.();
    },
    end: () => {
      for (const { reject } of waiting.values()) reject(new Error('the inspected process has ended'));
    },
  };
}
