import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { ChangePage } from '../../../core/ports/task-changes.js';
import type { Task } from '../../../core/task.js';
import type { TaskFilter } from '../../../core/task-filter.js';
import type { ChangeListener } from '../../../engine/following/change-feed.js';
import type { EventConnection } from '../../routing/responses/event-stream.js';
import type { SharedBytes } from '../../wire/shared-bytes.js';
import { TaskEventStreams } from './task-event-streams.js';

const ALL: TaskFilter = { statuses: [] };

class ConnectionUnderTest implements EventConnection {
  readonly authorization: string | undefined;
  readonly sent: SharedBytes[] = [];
  isEnded = false;
  unreadBytes = 0;
  reauthorize: EventConnection['reauthorize'] = () => undefined;
  leave: () => void = () => undefined;
  read: () => void = () => undefined;

  constructor(authorization?: string) {
    this.authorization = authorization;
  }

  send(bytes: SharedBytes): void {
    this.sent.push(bytes);
  }

  end(): void {
    this.isEnded = true;
    this.leave();
  }

  onRead(listener: () => void): void {
    this.read = listener;
  }

  onClosed(listener: () => void): void {
    this.leave = listener;
  }
}

let listeners: ChangeListener[];
let timers: { delayMs: number; action: () => void; isCanceled: boolean }[];
let nowMs: number;
let streams: TaskEventStreams;
const present = vi.fn((task: Task) => ({ id: task.id }));
const wake = vi.fn();

beforeEach(() => {
  listeners = [];
  timers = [];
  nowMs = 0;
  present.mockClear();
  wake.mockClear();
  streams = new TaskEventStreams({
    feed: {
      wake,
      add: (listener) => {
        listeners.push(listener);
        return () => void listeners.splice(listeners.indexOf(listener), 1);
      },
    },
    present,
    clock: { nowMs: () => nowMs, monotonicMs: () => nowMs },
    timers: {
      soon: (action) => action(),
      after: (delayMs, action) => {
        const timer = { delayMs, action, isCanceled: false };
        timers.push(timer);
        return {
          cancel: () => {
            timer.isCanceled = true;
          },
        };
      },
    },
  });
});

function open(connection: ConnectionUnderTest, filter = ALL, timeoutMs = 60_000): ChangeListener {
  streams.open(connection, { filter, owner: null, cursor: 'h.1', timeoutMs });
  return listeners.at(-1) as ChangeListener;
}

const task = (id: string, rest: Partial<Task> = {}) =>
  ({ id, status: 'WAITING', instance: null, ...rest }) as Task;
const pageOf = (...tasks: readonly Task[]): ChangePage => ({
  changes: tasks.map((each, at) => ({ cursor: `h.${at + 2}`, taskId: each.id, task: each })),
  cursor: `h.${tasks.length + 1}`,
  isLast: true,
});
const textOf = ({ sent }: ConnectionUnderTest) => Buffer.concat(sent.map(({ plain }) => plain)).toString();
const fire = async (delayMs: number) => {
  for (const timer of timers.filter((each) => each.delayMs === delayMs && !each.isCanceled)) {
    timer.isCanceled = true;
    timer.action();
  }
  await new Promise((resolve) => setImmediate(resolve));
};

describe('streams of task events', () => {
  it('present each task once, and share the bytes among all with the same filter', () => {
    const connections = [new ConnectionUnderTest(), new ConnectionUnderTest(), new ConnectionUnderTest()];
    const [a, b, waiting] = connections.map((connection, at) =>
      open(connection, at === 2 ? { statuses: ['WAITING'] } : ALL),
    );
    const page = pageOf(task('t1'), task('t2'));
    for (const listener of [a, b, waiting]) listener?.take(page);
    expect(present).toHaveBeenCalledTimes(2);
    expect(connections[0]?.sent[1]).toBe(connections[1]?.sent[1]);
    expect(textOf(connections[2] as ConnectionUnderTest)).toContain('data: {"id":"t2"}\n\n');
  });

  it('send nothing when nothing of a page matches', () => {
    const connection = new ConnectionUnderTest();
    open(connection, { statuses: [], creator: 'anna' }).take(pageOf(task('t1', { creator: 'udo' })));
    expect(connection.sent).toHaveLength(1);
  });

  it('let a client with unread bytes wait until it has read them', () => {
    const connection = new ConnectionUnderTest();
    const listener = open(connection);
    expect(listener.isBusy).toBe(false);
    connection.unreadBytes = 256 * 1024 + 1;
    expect(listener.isBusy).toBe(true);
    connection.read();
    expect(wake).toHaveBeenCalledOnce();
  });

  it('send a comment with the cursor every 15 s, but not to a client that does not read', async () => {
    const [reading, stalled] = [new ConnectionUnderTest(), new ConnectionUnderTest()];
    open(reading).cursor = 'h.7';
    open(stalled);
    stalled.unreadBytes = 1;
    await fire(15_000);
    expect(reading.sent.at(-1)?.plain.toString()).toBe(': alive\nid: h.7\n\n');
    expect(stalled.sent).toHaveLength(1);
    await fire(15_000);
    expect(reading.sent).toHaveLength(3);
  });

  it('ask about an authorization once a second for all of its streams, and end those that lost it', async () => {
    const connections = ['vera', 'vera', 'ulla'].map((name) => new ConnectionUnderTest(name));
    const [vera, again, ulla] = connections.map((connection) => open(connection));
    const checked = vi.fn();
    for (const connection of connections) connection.reauthorize = checked;
    expect(await Promise.all([vera, again, ulla].map((each) => each?.mayListen()))).toEqual([
      true,
      true,
      true,
    ]);
    expect(checked).toHaveBeenCalledTimes(2);
    nowMs = 1000;
    for (const connection of connections) {
      connection.reauthorize = async () => {
        if (connection.authorization === 'vera') throw new Error('logged out');
      };
    }
    expect(await Promise.all([vera, again, ulla].map((each) => each?.mayListen()))).toEqual([
      false,
      false,
      true,
    ]);
    await fire(15_000);
    expect(connections.map(({ isEnded }) => isEnded)).toEqual([true, true, false]);
  });

  it('end with their time, and when all was told', async () => {
    const [timed, once] = [new ConnectionUnderTest(), new ConnectionUnderTest()];
    open(timed, ALL, 5000);
    const listener = open(once, ALL, 0);
    listener.take({ ...pageOf(task('t1')), isLast: false });
    expect(once.isEnded).toBe(false);
    listener.take(pageOf());
    expect(once.isEnded).toBe(true);
    await fire(5000);
    expect(timed.isEnded).toBe(true);
    expect(listeners).toEqual([]);
    expect(timers.every(({ isCanceled }) => isCanceled)).toBe(true);
  });
});
