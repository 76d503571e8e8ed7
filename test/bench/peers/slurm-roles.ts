import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { Pool } from 'undici';
import { type StoredTask, serveFront } from './front.js';
import type { PeerRoles } from './role.js';

/** Files in the folder: the socket of slurmrestd, and the list of ended jobs that the controller writes. */
export const SLURM_SOCKET = 'rest/socket';
export const SLURM_ENDED = 'ended';

const SUBMIT = '/slurm/v0.0.38/job/submit';
const CONNECTIONS = 8;
const LOOK_EVERY_MS = 2;

/** Work of every task: one process, the least that a job of Slurm can be. */
const JOB = JSON.stringify({
  script: '#!/bin/sh\n/bin/true\n',
  job: {
    name: 'bench',
    tasks: 1,
    current_working_directory: '/tmp',
    standard_output: '/dev/null',
    environment: { PATH: '/usr/bin:/bin' },
  },
});

interface Submitted {
  readonly job_id?: number;
  readonly errors?: unknown;
}

export const slurmRoles: PeerRoles = {
  async front({ folder }) {
    const socketPath = join(folder, SLURM_SOCKET);
    const pool = new Pool('http://localhost', { socketPath, connections: CONNECTIONS, pipelining: 1 });
    const known = new Map<string, StoredTask>();
    const { port, ended } = await serveFront({
      create: async () => {
        const headers = { 'content-type': 'application/json' };
        const { body } = await pool.request({ method: 'POST', path: SUBMIT, headers, body: JOB });
        const { job_id: number, errors } = (await body.json()) as Submitted;
        if (!number) throw new Error(`slurmrestd said ${JSON.stringify(errors)}`);
        const id = `${number}`;
        if (!known.has(id)) known.set(id, { state: 'PENDING' });
        return id;
      },
      read: async (id) => known.get(id),
    });
    void watchEnds(join(folder, SLURM_ENDED), (id, state) => {
      known.set(id, { state });
      ended(id);
    });
    return port;
  },
  worker: async () => undefined,
};

/** Follows additions to the file forever. */
async function watchEnds(
  path: string,
  onEnd: (id: string, state: 'COMPLETED' | 'FAILED') => void,
): Promise<void> {
  const file = await open(path, 'r');
  const chunk = Buffer.alloc(1024 * 1024);
  let rest = '';
  for (;;) {
    const { bytesRead } = await file.read(chunk, 0, chunk.length, null);
    if (bytesRead === 0) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
      continue;
    }
    const lines = (rest + chunk.toString('latin1', 0, bytesRead)).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const id = /^JobId=(\d+)/.exec(line)?.[1];
      if (id !== undefined) onEnd(id, line.includes('JobState=COMPLETED') ? 'COMPLETED' : 'FAILED');
    }
  }
}
