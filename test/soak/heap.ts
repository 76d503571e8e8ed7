/** Heap of this process, asked by its own inspector: what is in use after garbage collection, and entries of all maps and sets, also in
 *  its threads. No port is opened, and the program needs no code for it. */
import { type InspectorNotification, Session } from 'node:inspector';

/** Contents of the heaps of a process, after garbage collection. */
export interface HeapContents {
  readonly heapBytes: number;
  /** Memory of buffers and other objects outside the heap of the main thread. */
  readonly externalBytes: number;
  readonly residentBytes: number;
  readonly workerThreads: number;
  /** Entries of all maps and sets, by kinds of map. */
  readonly entries: Readonly<Record<string, number>>;
  /** Number of maps and sets that are not empty, by kinds. */
  readonly maps: Readonly<Record<string, number>>;
}

type Ask = (method: string, params?: object) => Promise<unknown>;

/** Counts of the heap of one thread. */
type ThreadContents = Pick<HeapContents, 'heapBytes' | 'entries' | 'maps'>;

/** Function that runs with an array of maps or sets as `this`, in the inspected thread. A kind names the types of the first entry. */
const COUNT = `function () {
  const kindOf = (value) => {
    if (value === null || typeof value !== 'object') return typeof value;
    let keys = [];
    try { keys = Object.keys(value).slice(0, 4); } catch {}
    return (value.constructor?.name ?? 'object') + (Array.isArray(value) ? '' : '{' + keys.join(',') + '}');
  };
  const entries = {};
  const maps = {};
  for (const map of this) {
    let size = 0;
    try { size = map.size; } catch {} // a prototype
    if (!(size > 0)) continue;
    const [first] = map instanceof Map ? map.entries() : map.values();
    const types = map instanceof Map ? first.map(kindOf).join(', ') : kindOf(first);
    const kind = (map instanceof Map ? 'Map' : 'Set') + '<' + types + '>';
    entries[kind] = (entries[kind] ?? 0) + size;
    maps[kind] = (maps[kind] ?? 0) + 1;
  }
  return { entries, maps };
}`;

/** Time in which a thread answers; one that has ended meanwhile never does. */
const THREAD_LIMIT_MS = 20_000;

export async function heapContents(): Promise<HeapContents> {
  const session = new Session();
  session.connect();
  try {
    const ask: Ask = (method, params) =>
      new Promise((resolve, reject) =>
        session.post(method, params, (error, result) => (error ? reject(error) : resolve(result))),
      );
    const threads = await threadsOf(session, ask);
    const own = await contentsOf(ask);
    const [entries, maps] = [{ ...own.entries }, { ...own.maps }];
    let { heapBytes } = own;
    for (const thread of threads) {
      const contents = await thread().catch(() => undefined);
      if (!contents) continue; // it has ended meanwhile
      heapBytes += contents.heapBytes;
      add(contents.entries, entries);
      add(contents.maps, maps);
    }
    const { external, rss } = process.memoryUsage();
    return {
      heapBytes,
      externalBytes: external,
      residentBytes: rss,
      workerThreads: threads.length,
      entries,
      maps,
    };
  } finally {
    session.disconnect();
  }
}

function add(counts: Readonly<Record<string, number>>, to: Record<string, number>): void {
  for (const [kind, count] of Object.entries(counts)) to[kind] = (to[kind] ?? 0) + count;
}

async function contentsOf(ask: Ask): Promise<ThreadContents> {
  const entries: Record<string, number> = {};
  const maps: Record<string, number> = {};
  for (const type of ['Map', 'Set']) {
    const { result } = (await ask('Runtime.evaluate', { expression: `${type}.prototype` })) as Remote;
    const { objects } = (await ask('Runtime.queryObjects', { prototypeObjectId: result.objectId })) as {
      objects: Remote['result'];
    };
    const counted = (await ask('Runtime.callFunctionOn', {
      objectId: objects.objectId,
      functionDeclaration: COUNT,
      returnByValue: true,
    })) as { result: { value?: Pick<HeapContents, 'entries' | 'maps'> } };
    if (!counted.result.value) throw new Error(`maps cannot be counted: ${JSON.stringify(counted)}`);
    add(counted.result.value.entries, entries);
    add(counted.result.value.maps, maps);
    for (const { objectId } of [objects, result]) await ask('Runtime.releaseObject', { objectId });
  }
  await ask('HeapProfiler.collectGarbage');
  const { usedSize } = (await ask('Runtime.getHeapUsage')) as { usedSize: number };
  return { heapBytes: usedSize, entries, maps };
}

interface Remote {
  readonly result: { readonly objectId: string };
}

interface ThreadReply {
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** Asks each thread that this one has started, and theirs. */
async function threadsOf(session: Session, ask: Ask): Promise<(() => Promise<ThreadContents>)[]> {
  const sessionIds: string[] = [];
  const waiting = new Map<string, (reply: ThreadReply) => void>();
  session.on('NodeWorker.attachedToWorker', ({ params }) => sessionIds.push(params.sessionId));
  session.on(
    'NodeWorker.receivedMessageFromWorker',
    ({ params }: InspectorNotification<{ sessionId: string; message: string }>) => {
      const reply = JSON.parse(params.message) as ThreadReply;
      waiting.get(`${params.sessionId}/${reply.id}`)?.(reply);
    },
  );
  await ask('NodeWorker.enable', { waitForDebuggerOnStart: false });
  let calls = 0;
  return sessionIds.map((sessionId) => () => {
    return contentsOf(async (method, params = {}) => {
      const id = ++calls;
      const message = JSON.stringify({ id, method, params });
      const key = `${sessionId}/${id}`;
      const reply = await new Promise<ThreadReply>((resolve, reject) => {
        const limit = setTimeout(() => reject(new Error('the thread does not answer')), THREAD_LIMIT_MS);
        waiting.set(key, (answer) => {
          clearTimeout(limit);
          resolve(answer);
        });
        void ask('NodeWorker.sendMessageToWorker', { sessionId, message }).catch(reject);
      });
      waiting.delete(key);
      if (reply.error !== undefined) throw new Error(JSON.stringify(reply.error));
      return reply.result;
    });
  });
}
