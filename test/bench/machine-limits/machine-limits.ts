/** Limits of this machine: synced writes, and messages between two processes. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fdatasyncSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { WebSocket } from 'ws';
import { compiled } from '../compiled.js';
import { quantile } from '../figures.js';
import { usesOf } from '../machine.js';
import type { Run, Sample, Workload } from '../workload.js';

const FOR_MS = 3000;
const BLOCK_BYTES = 4096;
const MESSAGE = { id: 1, payload: 'x'.repeat(280) };
const IN_FLIGHT = 64;

export const machineLimits: Workload = {
  name: 'machine',
  what: 'limits of the machine: synced writes, and round trips over a WebSocket',
  prepare: async ({ scale }) => ({ measure: (folder) => measure(folder, FOR_MS * scale) }),
};

async function measure(folder: string, forMs: number): Promise<Run> {
  const file = join(folder, 'synced');
  const { samples, processes } = await webSocket(forMs);
  return {
    samples: [
      ...syncs(file, forMs, 'fsync', fsyncSync),
      ...syncs(file, forMs, 'fdatasync', fdatasyncSync),
      ...samples,
    ],
    processes,
  };
}

/** Appends blocks and has each on the disk before the next. */
function syncs(file: string, forMs: number, name: string, sync: (fd: number) => void): Sample[] {
  const fd = openSync(file, 'w');
  const block = Buffer.alloc(BLOCK_BYTES, 1);
  const tookMs: number[] = [];
  const began = performance.now();
  for (let now = began; now - began < forMs || tookMs.length === 0; now = performance.now()) {
    writeSync(fd, block);
    sync(fd);
    tookMs.push(performance.now() - now);
  }
  const seconds = (performance.now() - began) / 1000;
  closeSync(fd);
  return [
    { name: `${name} of 4 KiB`, value: tookMs.length / seconds, unit: 'per s' },
    { name: `${name}, median`, value: quantile(tookMs, 0.5), unit: 'ms' },
    { name: `${name}, 99 of 100`, value: quantile(tookMs, 0.99), unit: 'ms' },
  ];
}

async function webSocket(forMs: number): Promise<Run> {
  const child = fork(fileURLToPath(compiled('./echo-process.js', import.meta.url)), { execArgv: [] });
  try {
    const [{ port }] = (await once(child, 'message')) as [{ port: number }];
    const socket = new WebSocket(`ws://127.0.0.1:${port}`, { perMessageDeflate: false });
    await once(socket, 'open');
    await roundTripsPerS(socket, IN_FLIGHT, forMs / 10);
    const many = await roundTripsPerS(socket, IN_FLIGHT, forMs);
    const one = await roundTripsPerS(socket, 1, forMs);
    socket.terminate();
    const pid = child.pid ?? 0;
    return {
      samples: [
        { name: `round trips of 300 bytes, ${IN_FLIGHT} at a time`, value: many, unit: 'per s' },
        { name: 'round trips of 300 bytes, one at a time', value: one, unit: 'per s' },
      ],
      processes: usesOf([['other end', pid]]),
    };
  } finally {
    child.disconnect();
    await once(child, 'exit');
  }
}

function roundTripsPerS(socket: WebSocket, inFlight: number, forMs: number): Promise<number> {
  return new Promise((resolve) => {
    const began = performance.now();
    let count = 0;
    let left = inFlight;
    const send = () => socket.send(JSON.stringify(MESSAGE));
    const onMessage = (data: unknown) => {
      JSON.parse(`${data}`);
      count++;
      if (performance.now() - began < forMs) return send();
      left--;
      if (left > 0) return undefined;
      socket.off('message', onMessage);
      return resolve((count * 1000) / (performance.now() - began));
    };
    socket.on('message', onMessage);
    for (let sent = 0; sent < inFlight; sent++) send();
  });
}
