import { Readable } from 'node:stream';
import { manualRuntime } from '@workbench-hub/shared/runtime/manual-runtime';
import { expect, it } from 'vitest';
import type { Task } from '../../core/task.js';
import { LogFollower, type LogFollowerOptions } from './log-follower.js';

const CHUNK = 'x'.repeat(64 * 1024);

/** A follower of a task that has ended, with a log of so many pieces. */
function followerOf(pieces: number) {
  const opened: { file: Readable; read: number }[] = [];
  const open = () => {
    const reading = { file: new Readable({ read: () => undefined }), read: 0 };
    reading.file._read = () => {
      reading.read++;
      reading.file.push(reading.read > pieces ? null : CHUNK);
    };
    opened.push(reading);
    return reading.file;
  };
  const options = {
    tasks: { get: async () => ({ id: 't', status: 'FINISHED', attempt: 1 }) as Task },
    archive: { filesOf: async () => ({ log: { digest: 'd', size: 1 } }) },
    files: { find: async () => ({ sizeBytes: 1, isEncrypted: false, open }) },
    output: { follow: () => () => undefined },
    timers: manualRuntime().timers,
  } as unknown as LogFollowerOptions;
  return { follower: new LogFollower(options), opened };
}

it('stops reading the log, and closes its file, when its client has left, however it reads on', async () => {
  const { follower, opened } = followerOf(240);
  const client = new AbortController();
  let events = 0;
  for await (const { type } of follower.follow('t', { attempt: 0, offset: 0 }, client.signal)) {
    expect(type).not.toBe('end');
    if (++events === 5) client.abort();
  }
  expect(events).toBe(5);
  expect(opened.map(({ file }) => file.destroyed)).toEqual([true]);
  expect(opened[0]?.read).toBeLessThan(10);
});

it('closes the file of a log that does not come when its client leaves', async () => {
  const { follower, opened } = followerOf(1);
  const client = new AbortController();
  const following = follower.follow('t', { attempt: 1, offset: 0 }, client.signal);
  const first = await following.next();
  expect(first.value).toMatchObject({ type: 'output' });
  const file = opened[0]?.file as Readable;
  file._read = () => undefined;
  for (let piece = 0; piece < 3; piece++) await following.next();
  const next = following.next();
  client.abort();
  await next;
  expect(file.destroyed).toBe(true);
});
