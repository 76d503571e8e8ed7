import { expect, it } from 'vitest';
import { runningTaskWith } from '../../core/fixtures/task.js';
import { OWN_AGENT_ID } from '../../core/own-agent.js';
import { manifestOf } from './manifest.js';
import type { TaskDetails } from './task-details.js';

const INSTANCE = { id: 'sim-1', version: '9', revision: '1', agentId: OWN_AGENT_ID };
const ENDED = { status: 'FINISHED', endedAtMs: 3, instance: INSTANCE } as const;
const HUB = { id: 'hub-id', baseUrl: null };

function details(
  fields: Parameters<typeof runningTaskWith>[0],
  more: Partial<TaskDetails> = {},
): TaskDetails {
  const task = runningTaskWith({ ...ENDED, ...fields });
  return {
    task,
    job: { type: 'SIMULATE_WORK', durationS: 5 },
    attempts: [
      { attempt: 1, instance: INSTANCE, startedAtMs: 2, endedAtMs: 3, outcome: 'FINISHED', reason: null },
    ],
    files: null,
    notify: null,
    deliveries: [],
    ...more,
  };
}

it('a loan names the hub and the user that it was handed in by, and an own instance has no host', () => {
  const loan = {
    upstream: 'headquarters',
    ref: { taskId: 'there', attempt: 1, instanceId: 'site.sim-1' },
    proof: 'secret',
    origin: { hub: 'https://hub.example.com', user: 'anna' },
  };
  const manifest = manifestOf(details({ loan }), [], HUB);
  expect(manifest.task.loan).toEqual({
    upstream: 'headquarters',
    hub: 'https://hub.example.com',
    user: 'anna',
    taskId: 'there',
  });
  expect(manifest.instance).toEqual({ id: 'sim-1', version: '9', revision: '1' });
  expect(JSON.stringify(manifest)).not.toContain('secret');
});

it('the task of a point names its study and the number of the point', () => {
  const study = { id: 'study', point: 17 };
  expect(manifestOf(details({ study }), [], HUB).task.study).toEqual(study);
  expect(manifestOf(details({}), [], HUB).task).not.toHaveProperty('study');
});

it('outputs have the same order whatever that of the store, and times do not depend on the zone', () => {
  const file = (path: string) => ({ path, digest: path, sizeBytes: 1 });
  const files = (paths: readonly string[]) => ({ files: { outputFiles: paths.map(file), log: null } });
  const one = JSON.stringify(manifestOf(details({}, files(['b', 'a/c', 'B'])), [], HUB));
  const zone = process.env['TZ'];
  try {
    process.env['TZ'] = 'Asia/Kolkata';
    expect(JSON.stringify(manifestOf(details({}, files(['a/c', 'B', 'b'])), [], HUB))).toBe(one);
  } finally {
    if (zone === undefined) delete process.env['TZ'];
    else process.env['TZ'] = zone;
  }
  expect(one).toContain('"startedAt":"1970-01-01T00:00:00.002Z","endedAt":"1970-01-01T00:00:00.003Z"');
});
