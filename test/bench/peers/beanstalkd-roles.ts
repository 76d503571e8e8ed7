import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { LoadTask } from '../load/dialects.js';
import { type StoredTask, serveFront } from './front.js';
import { execute, type PeerRoles } from './role.js';

const PRIORITY = { HIGHEST: 1, OTHER: 10 } as const;
const RESULT_READERS = 8;

/** A message in the tube of results. */
interface Result {
  readonly id: string;
  readonly result: unknown;
}

interface Reserved {
  readonly id: string;
  readonly body: string;
}

interface Answer {
  readonly words: readonly string[];
  readonly body: string;
}

/** One connection: commands are pipelined, replies arrive in order. */
class Beanstalk {
  readonly #socket: Socket;
  readonly #waiting: ((answer: Answer) => void)[] = [];
  #received: Buffer = Buffer.alloc(0);

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (data) => {
      this.#received = Buffer.concat([this.#received, data]);
      for (let answer = this.#take(); answer; answer = this.#take()) this.#waiting.shift()?.(answer);
    });
  }

  static async connect(port: number): Promise<Beanstalk> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    return new Beanstalk(socket);
  }

  async use(tube: string): Promise<void> {
    await this.#command(`use ${tube}\r\n`, 'USING');
  }

  async watch(tube: string): Promise<void> {
    await this.#command(`watch ${tube}\r\n`, 'WATCHING');
  }

  async put(body: string, priority: number): Promise<string> {
    const text = `put ${priority} 0 60 ${Buffer.byteLength(body)}\r\n${body}\r\n`;
    return (await this.#command(text, 'INSERTED')).words[1] ?? '';
  }

  async reserve(): Promise<Reserved> {
    const { words, body } = await this.#command('reserve\r\n', 'RESERVED');
    return { id: words[1] ?? '', body };
  }

  async remove(id: string): Promise<void> {
    await this.#command(`delete ${id}\r\n`, 'DELETED');
  }

  async #command(text: string, expected: string): Promise<Answer> {
    this.#socket.write(text);
    const answer = await new Promise<Answer>((resolve) => this.#waiting.push(resolve));
    if (answer.words[0] !== expected) throw new Error(`beanstalkd said ${answer.words.join(' ')}`);
    return answer;
  }

  #take(): Answer | undefined {
    const endOfLine = this.#received.indexOf('\r\n');
    if (endOfLine < 0) return undefined;
    const words = this.#received.toString('latin1', 0, endOfLine).split(' ');
    const from = endOfLine + 2;
    if (words[0] !== 'RESERVED') {
      this.#received = this.#received.subarray(from);
      return { words, body: '' };
    }
    const end = from + Number(words[2]);
    if (this.#received.length < end + 2) return undefined;
    const body = this.#received.toString('utf8', from, end);
    this.#received = this.#received.subarray(end + 2);
    return { words, body };
  }
}

export const beanstalkdRoles: PeerRoles = {
  async front({ serverPort }) {
    const tasks = await Beanstalk.connect(serverPort);
    await tasks.use('tasks');
    const known = new Map<string, StoredTask>();
    const { port, ended } = await serveFront({
      create: async (task) => {
        const id = await tasks.put(
          JSON.stringify(task),
          PRIORITY[task.priority === 'HIGHEST' ? 'HIGHEST' : 'OTHER'],
        );
        // The result may arrive before the reply.
        if (!known.has(id)) known.set(id, { state: 'PENDING' });
        return id;
      },
      read: async (id) => known.get(id),
    });
    const readResults = async () => {
      const results = await Beanstalk.connect(serverPort);
      await results.watch('results');
      for (;;) {
        const { id: entry, body } = await results.reserve();
        const { id, result } = JSON.parse(body) as Result;
        known.set(id, { state: 'COMPLETED', result });
        const removed = results.remove(entry);
        ended(id);
        await removed;
      }
    };
    for (let reader = 0; reader < RESULT_READERS; reader++) void readResults();
    return port;
  },

  async worker({ serverPort, slots }, go) {
    await go();
    const work = async () => {
      const server = await Beanstalk.connect(serverPort);
      await server.use('results');
      await server.watch('tasks');
      for (;;) {
        const { id, body } = await server.reserve();
        const { kind } = JSON.parse(body) as LoadTask;
        const result: Result = { id, result: await execute(kind) };
        await server.put(JSON.stringify(result), PRIORITY.OTHER);
        await server.remove(id);
      }
    };
    await Promise.all(Array.from({ length: slots }, work));
  },
};
