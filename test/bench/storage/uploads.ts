/** The file into the input storage, in a form (multipart), clear or encrypted; and an encrypted one as an agent fetches it. */
import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import { AGENT_PATHS } from '@workbench-hub/shared/agent-protocol/messages';
import { digestOf } from './ended-job.js';
import { PIECE_BYTES, receive, send } from './http.js';
import { agentToken, pace, type StorageStage, type StorageWay } from './storage-way.js';

const BOUNDARY = 'boundary-of-the-benchmark';

export const upload: StorageWay = {
  name: 'upload',
  measure: async (stage) => [await timed('upload', stage, () => uploadSource(stage, 'model.bin'))],
};

export const encryptedUpload: StorageWay = {
  name: 'encrypted upload',
  measure: async (stage) => [
    await timed('encrypted upload', stage, () => uploadSource(stage, 'model.bin', '?encrypt=true')),
  ],
};

export const encryptedDownload: StorageWay = {
  name: 'encrypted download',
  measure: async (stage) => {
    await uploadSource(stage, 'model.bin', '?encrypt=true');
    const url = `${stage.hub.baseUrl}${AGENT_PATHS.FILES}/${await digestOf(stage.source)}`;
    const authorization = `Bearer ${agentToken(stage)}`;
    const fetched = async () => void (await receive(url, { authorization }));
    return [await timed('encrypted download', stage, fetched)];
  },
};

/** `name` is the name that the source gets in the input storage. */
export async function uploadSource(
  { hub, source }: Pick<StorageStage, 'hub' | 'source'>,
  name: string,
  query = '',
): Promise<void> {
  await send(`${hub.baseUrl}/api/2.0/storage/input/upload${query}`, {
    method: 'POST',
    headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
    body: Readable.from(formOf(name, source), { objectMode: false, highWaterMark: PIECE_BYTES }),
    status: 204,
  });
}

async function* formOf(name: string, source: string): AsyncGenerator<Buffer> {
  const disposition = `Content-Disposition: form-data; name="file"; filename="${name}"`;
  yield Buffer.from(`--${BOUNDARY}\r\n${disposition}\r\n\r\n`);
  yield* createReadStream(source, { highWaterMark: PIECE_BYTES }) as AsyncIterable<Buffer>;
  yield Buffer.from(`\r\n--${BOUNDARY}--\r\n`);
}

async function timed(name: string, { sizeBytes }: StorageStage, work: () => Promise<void>) {
  const began = performance.now();
  await work();
  return pace(name, sizeBytes, performance.now() - began);
}
