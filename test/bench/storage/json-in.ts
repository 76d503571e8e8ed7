/** A batch job whose model is the file, in one JSON body. */
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { quantile } from '../figures.js';
import type { Sample } from '../workload.js';
import { PIECE_BYTES, send } from './http.js';
import { pace, type StorageWay } from './storage-way.js';

const HEAD = '{"inputScripts":[{"content":"cHJpbnQ="}],"inputModel":{"type":"WBPZ","content":"';
const TAIL = '"}}';

const OTHERS_EVERY_MS = 5;

export const jsonIn: StorageWay = {
  name: 'JSON in',
  config: { limits: { requestBody: '64GiB', fileSize: '32GiB' } },
  measure: async ({ hub, source, sizeBytes }) => {
    const others = watchOthers(hub.baseUrl);
    const began = performance.now();
    await send(`${hub.baseUrl}/api/2.0/workbench/task/execute-batch-job/create`, {
      method: 'POST',
      headers: { 'content-length': HEAD.length + (sizeBytes / 3) * 4 + TAIL.length },
      body: Readable.from(bodyOf(source), { objectMode: false, highWaterMark: PIECE_BYTES }),
      status: 201,
    });
    const ms = performance.now() - began;
    return [pace('JSON in', sizeBytes, ms), ...(await others())];
  },
};

async function* bodyOf(source: string): AsyncGenerator<Buffer> {
  yield Buffer.from(HEAD);
  for await (const piece of createReadStream(source, { highWaterMark: PIECE_BYTES })) {
    yield Buffer.from((piece as Buffer).toString('base64'), 'latin1');
  }
  yield Buffer.from(TAIL);
}

/** Sends small requests until it is called; returns their durations. */
function watchOthers(baseUrl: string): () => Promise<Sample[]> {
  const waits: number[] = [];
  let done = false;
  const asked = (async () => {
    do {
      const began = performance.now();
      await (await fetch(`${baseUrl}/api/2.0/workbench/task/list?size=1`)).text();
      waits.push(performance.now() - began);
      await new Promise((resolve) => setTimeout(resolve, OTHERS_EVERY_MS));
    } while (!done);
  })();
  return async () => {
    done = true;
    await asked;
    return [
      { name: 'JSON in: other requests, median', value: quantile(waits, 0.5), unit: 'ms' },
      { name: 'JSON in: other requests, 99 of 100', value: quantile(waits, 0.99), unit: 'ms' },
    ];
  };
}
