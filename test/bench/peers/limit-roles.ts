import { join } from 'node:path';
import Database from 'better-sqlite3';
import { WebSocket, WebSocketServer } from 'ws';
import type { LoadTask } from '../load/dialects.js';
import { serveFront } from './front.js';
import { execute, type PeerRoles } from './role.js';

interface Write {
  run(): void;
  committed(): void;
}

interface WorkerSocket {
  readonly socket: WebSocket;
  free: number;
}

interface GivenTask {
  readonly id: number;
  readonly kind: LoadTask['kind'];
  readonly payload: unknown;
}

interface DoneTask {
  readonly id: number;
  readonly result: unknown;
}

const SCHEMA = `
  CREATE TABLE task (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, state TEXT NOT NULL, payload TEXT NOT NULL,
                     result TEXT) STRICT`;

/** One store, its ready tasks, and their workers. */
class Pipeline {
  readonly #db: Database.Database;
  readonly #insert;
  readonly #start;
  readonly #finish;
  readonly #read;
  readonly #job;
  readonly #commit;
  #lastId = 0;
  #writes: Write[] = [];
  readonly #ready = { urgent: new Fifo(), other: new Fifo() };
  readonly #workers = new Set<WorkerSocket>();

  constructor(file: string) {
    this.#db = new Database(file);
    this.#db.pragma('journal_mode = WAL');
    this.#db.pragma('synchronous = FULL');
    this.#db.exec(SCHEMA);
    this.#insert = this.#db.prepare("INSERT INTO task VALUES (?, ?, 'PENDING', ?, NULL)");
    this.#start = this.#db.prepare("UPDATE task SET state = 'RUNNING' WHERE id = ?");
    this.#finish = this.#db.prepare("UPDATE task SET state = 'COMPLETED', result = ? WHERE id = ?");
    this.#read = this.#db.prepare<number, { state: string; result: string | null }>(
      'SELECT state, result FROM task WHERE id = ?',
    );
    this.#job = this.#db.prepare<number, { kind: LoadTask['kind']; payload: string }>(
      'SELECT kind, payload FROM task WHERE id = ?',
    );
    this.#commit = this.#db.transaction((writes: readonly Write[]) => {
      for (const { run } of writes) run();
    });
  }

  create({ kind, priority, payload }: LoadTask): Promise<string> {
    const id = ++this.#lastId;
    const text = JSON.stringify(payload);
    const ready = priority === 'HIGHEST' ? this.#ready.urgent : this.#ready.other;
    return new Promise((resolve) => {
      this.#write({
        run: () => this.#insert.run(id, kind, text),
        committed: () => {
          ready.add(id);
          resolve(`${id}`);
        },
      });
    });
  }

  read(id: string) {
    const row = this.#read.get(Number(id));
    if (!row) return undefined;
    if (row.state !== 'COMPLETED') return { state: 'PENDING' as const };
    return { state: 'COMPLETED' as const, result: JSON.parse(row.result ?? 'null') as unknown };
  }

  join(socket: WebSocket, slots: number, ended: (id: string) => void): void {
    const worker = { socket, free: slots };
    this.#workers.add(worker);
    socket.on('message', (data) => {
      const { id, result } = JSON.parse(`${data}`) as DoneTask;
      worker.free++;
      this.#write({
        run: () => this.#finish.run(JSON.stringify(result), id),
        committed: () => ended(`${id}`),
      });
    });
    socket.on('close', () => this.#workers.delete(worker));
    this.#giveOut();
  }

  /** Everything that is to be written in this turn of the event loop shares one commit. */
  #write(write: Write): void {
    this.#writes.push(write);
    if (this.#writes.length > 1) return;
    setImmediate(() => {
      const writes = this.#writes;
      this.#writes = [];
      this.#commit(writes);
      for (const { committed } of writes) committed();
      this.#giveOut();
    });
  }

  #giveOut(): void {
    for (const worker of this.#workers) {
      while (worker.free > 0) {
        const id = this.#ready.urgent.take() ?? this.#ready.other.take();
        if (id === undefined) return;
        this.#give(id, worker);
      }
    }
  }

  #give(id: number, worker: WorkerSocket): void {
    worker.free--;
    const job = this.#job.get(id);
    if (!job) throw new Error(`task ${id} is gone`);
    const given: GivenTask = { id, kind: job.kind, payload: JSON.parse(job.payload) };
    this.#write({
      run: () => this.#start.run(id),
      committed: () => worker.socket.send(JSON.stringify(given)),
    });
  }
}

class Fifo {
  #items: number[] = [];
  #head = 0;

  add(item: number): void {
    this.#items.push(item);
  }

  take(): number | undefined {
    const item = this.#items[this.#head];
    if (item === undefined) return undefined;
    this.#head++;
    if (this.#head > 10_000) {
      this.#items = this.#items.slice(this.#head);
      this.#head = 0;
    }
    return item;
  }
}

export const limitRoles: PeerRoles = {
  async front({ variant, folder }) {
    if (variant === 'http') {
      let last = 0;
      const { port } = await serveFront({ create: async () => `${++last}`, read: async () => undefined });
      return port;
    }
    const pipeline = new Pipeline(join(folder, 'tasks.sqlite'));
    const { server, port, ended } = await serveFront({
      create: (task) => pipeline.create(task),
      read: async (id) => pipeline.read(id),
    });
    const sockets = new WebSocketServer({ server, path: '/worker', perMessageDeflate: false });
    sockets.on('connection', (socket, request) => {
      const slots = Number(new URL(request.url ?? '', 'http://127.0.0.1').searchParams.get('slots'));
      pipeline.join(socket, slots, ended);
    });
    return port;
  },

  async worker({ serverPort, slots }, go) {
    await go();
    const url = `ws://127.0.0.1:${serverPort}/worker?slots=${slots}`;
    const socket = new WebSocket(url, { perMessageDeflate: false });
    socket.on('message', async (data) => {
      const { id, kind } = JSON.parse(`${data}`) as GivenTask;
      const done: DoneTask = { id, result: await execute(kind) };
      socket.send(JSON.stringify(done));
    });
  },
};
