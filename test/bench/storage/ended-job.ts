/** A job that has ended with the source as an output, so that there is something to fetch. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { AGENT_PATHS } from '@workbench-hub/shared/agent-protocol/messages';
import type { NamedFileRef } from '@workbench-hub/shared/domain/job';
import { FakeAgent } from '../../support/agents/fake-agent.js';
import { restClient } from '../../support/interface/rest-client.js';
import { PIECE_BYTES, send } from './http.js';
import { agentToken, type StorageStage } from './storage-way.js';

export const OUTPUT = 'result.bin';

/** Gives the id of the job. The output is in its result, or in the output storage. */
export async function jobWithOutput(
  stage: StorageStage,
  where: 'outputFiles' | 'storedFiles',
): Promise<string> {
  const { hub, source, sizeBytes } = stage;
  const token = agentToken(stage);
  const digest = await digestOf(source);
  await send(`${hub.baseUrl}${AGENT_PATHS.FILES}/${digest}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${token}`, 'content-length': sizeBytes },
    body: createReadStream(source, { highWaterMark: PIECE_BYTES }),
    status: 204,
  });
  // Joins only now: a silent agent becomes unreachable.
  const agent = await FakeAgent.join({ address: hub.baseUrl, token });
  const id = await restClient(hub.baseUrl).createBatchJob({ inputScripts: [{ content: 'cHJpbnQ=' }] });
  const { ref } = await agent.hear('assign');
  const output: NamedFileRef = { path: OUTPUT, digest, sizeBytes };
  await agent.end(ref, 'OK', { [where]: [output] });
  await agent.leave();
  return id;
}

export async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: PIECE_BYTES }), hash);
  return hash.digest('hex');
}
