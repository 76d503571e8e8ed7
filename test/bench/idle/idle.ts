/** An agent with many slots: what they cost while they are idle, and when all of them are used at once. */
import { HttpConnection } from '../load/http-connection.js';
import { countDescendants, treeShareMib, treeUse, usesOf } from '../machine.js';
import { quiet } from '../quiet.js';
import { startHub } from '../subjects/hub.js';
import type { Run, Workload, WorkloadOptions } from '../workload.js';

const SLOTS = 64;
const AGENT = 'a';
const UP_LIMIT_S = 2;
const MEMORY_LIMIT_MIB = 200;
const LOOK_EVERY_MS = 200;
const POLL_S = 60;

const TASKS = '/api/2.0/workbench/task/execute-batch-job';
const SCRIPT = "console.log('done');";

export const w9: Workload = {
  name: 'w9',
  what: 'an agent with 64 idle slots, then 64 short scripts at once',
  targets: [
    { figure: 'all slots up after', is: 'at most', value: UP_LIMIT_S },
    { figure: 'memory of the agent and its programs, idle', is: 'at most', value: MEMORY_LIMIT_MIB },
  ],
  prepare: async (options) => ({ measure: (folder) => measure(folder, options) }),
};

async function measure(folder: string, { scale, profiles }: WorkloadOptions): Promise<Run> {
  const slots = Math.max(2, Math.ceil(SLOTS * scale));
  const running = await startHub(
    { folder, slots, paused: true, ...(profiles === undefined ? {} : { profiles }) },
    { agents: [AGENT] },
  );
  try {
    await quiet(running.hub.pid);
    const began = performance.now();
    await running.resume();
    await running.allUp();
    const upS = (performance.now() - began) / 1000;
    const pid = running.pids.get(`agent ${AGENT}`) ?? 0;
    await quiet(pid);
    const startCpuS = treeCpuSeconds(pid);
    const idleMib = treeShareMib(pid);
    const count = countDescendants(pid);
    const burst = await runAtOnce(running.port, slots, pid);
    return {
      samples: [
        { name: 'all slots up after', value: upS, unit: 's' },
        { name: 'CPU of the start', value: startCpuS, unit: 's' },
        { name: 'memory of the agent and its programs, idle', value: idleMib, unit: 'MiB' },
        { name: 'processes beneath the agent, idle', value: count, unit: '' },
        { name: 'a script for each slot: ended after', value: burst.seconds, unit: 's' },
        { name: 'a script for each slot: CPU', value: burst.cpuS, unit: 's' },
        { name: 'a script for each slot: peak memory', value: burst.peakMib, unit: 'MiB' },
      ],
      processes: usesOf(running.pids),
    };
  } finally {
    await running.stop();
  }
}

/** Runs this many scripts at the same time. */
async function runAtOnce(port: number, count: number, pid: number) {
  let peakMib = treeShareMib(pid);
  const look = setInterval(() => {
    peakMib = Math.max(peakMib, treeShareMib(pid));
  }, LOOK_EVERY_MS);
  try {
    const beforeS = treeCpuSeconds(pid);
    const began = performance.now();
    await Promise.all(Array.from({ length: count }, () => runScript(port)));
    const seconds = (performance.now() - began) / 1000;
    return { seconds, cpuS: treeCpuSeconds(pid) - beforeS, peakMib };
  } finally {
    clearInterval(look);
  }
}

async function runScript(port: number): Promise<void> {
  const connection = new HttpConnection(port);
  try {
    const body = JSON.stringify({ inputScripts: [{ content: Buffer.from(SCRIPT).toString('base64') }] });
    const created = await connection.request({ method: 'POST', path: `${TASKS}/create`, body });
    const { id } = JSON.parse(created.text) as { id: string };
    const path = `${TASKS}/${id}/result?timeout=${POLL_S}`;
    for (;;) {
      const { text } = await connection.request({ method: 'GET', path });
      const { status, batchExecutionStatus } = JSON.parse(text) as Record<string, string>;
      if (status === 'WAITING' || status === 'RUNNING') continue;
      if (batchExecutionStatus !== 'OK') throw new Error(`a script ended with ${text}`);
      return;
    }
  } finally {
    connection.close();
  }
}

function treeCpuSeconds(pid: number): number {
  const { own, beneath } = treeUse(pid);
  return own.cpuS + (beneath?.cpuS ?? 0);
}
