/** Counts of a running process with the gauge: memory, descriptors, threads, entries of maps. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { eventually } from '../support/eventually.js';
import type { HeapContents } from './heap.js';

/** Option of Node.js that loads the gauge into a process. */
export const GAUGE_OPTION = `--import=${fileURLToPath(new URL('gauge.js', import.meta.url))}`;

const MIB = 1024 ** 2;

export interface ProcessCounts {
  readonly residentMiB: number;
  readonly heapMiB: number;
  readonly externalMiB: number;
  readonly descriptors: number;
  readonly threads: number;
  readonly mapEntries: number;
  /** Entries by kinds of map, and the number of maps of each kind. */
  readonly byKind: Readonly<Record<string, number>>;
  readonly mapsByKind: Readonly<Record<string, number>>;
}

/** Environment variable that names the files by which a process is asked. */
export function gaugeEnvironment(file: string): NodeJS.ProcessEnv {
  return { SOAK_GAUGE: file };
}

let requests = 0;

/** Asks a process that was started with {@link GAUGE_OPTION} and {@link gaugeEnvironment}. */
export async function countsOf(pid: number, file: string): Promise<ProcessCounts> {
  const request = `${process.pid}.${++requests}`;
  writeFileSync(`${file}.request`, request);
  process.kill(pid, 'SIGUSR2');
  const heap = await eventually(() => {
    const answer = JSON.parse(readFileSync(`${file}.answer`, 'utf8')) as HeapContents & {
      request: string;
      failure?: string;
    };
    return answer.request === request && answer;
  });
  if (heap.failure !== undefined) throw new Error(`process ${pid} cannot be measured: ${heap.failure}`);
  return {
    residentMiB: heap.residentBytes / MIB,
    heapMiB: heap.heapBytes / MIB,
    externalMiB: heap.externalBytes / MIB,
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    threads: readdirSync(`/proc/${pid}/task`).length,
    mapEntries: Object.values(heap.entries).reduce((sum, size) => sum + size, 0),
    byKind: heap.entries,
    mapsByKind: heap.maps,
  };
}
