/** The result of a batch job whose output is the file, in one JSON answer. */
import { createHash } from 'node:crypto';
import { createReadStream, readFileSync } from 'node:fs';
import { get, request } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { AGENT_PATHS } from '@workbench-hub/shared/agent-protocol/messages';
import { FakeAgent } from '../../support/fake-agent.js';
import { restClient } from '../../support/rest-client.js';
import { pace, type StorageStage, type StorageWay } from './storage-way.js';

export const jsonOut: StorageWay = {
  name: 'JSON out',
  measure: async (stage) => {
    const { hub, sizeBytes } = stage;
    const id = await jobWithOutput(stage);
    const began = performance.now();
    const bytes = await lengthOf(`${hub.baseUrl}/api/2.0/workbench/task/execute-batch-job/${id}/result`);
    const ms = performance.now() - began;
    if (bytes < (sizeBytes / 3) * 4) throw new Error(`the result has only ${bytes} bytes`);
    return [pace('JSON out', sizeBytes, ms)];
  },
};

/** A job that has ended, with the source as its output file; gives its id. */
async function jobWithOutput({ hub, folder, source, sizeBytes }: StorageStage): Promise<string> {
  const token = readFileSync(join(folder, 'hub', 'agent-token'), 'utf8').trim();
  const agent = await FakeAgent.join({ address: hub.baseUrl, token });
  const id = await restClient(hub.baseUrl).createBatchJob({ inputScripts: [{ content: 'cHJpbnQ=' }] });
  const { ref } = await agent.hear('assign');
  const hash = createHash('sha256');
  await pipeline(createReadStream(source), hash);
  const digest = hash.digest('hex');
  await put(`${hub.baseUrl}${AGENT_PATHS.FILES}/${digest}`, { token, source, sizeBytes });
  await agent.end(ref, 'OK', { outputFiles: [{ path: 'result.bin', digest, sizeBytes }] });
  await agent.leave();
  return id;
}

async function put(
  url: string,
  { token, source, sizeBytes }: { token: string; source: string; sizeBytes: number },
): Promise<void> {
  const outgoing = request(url, {
    method: 'PUT',
    headers: { authorization: `Bearer ${token}`, 'content-length': sizeBytes },
  });
  const answered = new Promise<number>((resolve, reject) => {
    outgoing.once('error', reject);
    outgoing.once('response', (incoming) => resolve(incoming.resume().statusCode ?? 0));
  });
  await pipeline(createReadStream(source), outgoing);
  const status = await answered;
  if (status !== 204) throw new Error(`PUT answered ${status}`);
}

/** How many bytes an answer has. */
function lengthOf(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, (incoming) => {
      let bytes = 0;
      incoming.on('data', (piece: Buffer) => {
        bytes += piece.length;
      });
      incoming.once('error', reject);
      incoming.once('end', () => resolve(bytes));
    }).once('error', reject);
  });
}
