// A job over the REST interface: creation, log, result.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const LOG_POLL_MS = 250;
const LOG_TIMEOUT_MS = 2000;
const WAIT_S = 60;

async function request(url, init) {
  const response = await fetch(url, init);
  const text = await response.text();
  if (!response.ok) throw new Error(`${init?.method ?? 'GET'} ${url}: ${response.status} ${text}`);
  return text;
}

function requestInTime(url) {
  return request(url, { signal: AbortSignal.timeout(LOG_TIMEOUT_MS) });
}

/** Reads a resource as JSON. */
export async function getJson(url) {
  return JSON.parse(await request(url));
}

/** Sends a body as JSON; resolves with that of the response. */
export async function postJson(url, body) {
  const headers = { 'content-type': 'application/json' };
  return JSON.parse(await request(url, { method: 'POST', headers, body: JSON.stringify(body) }));
}

/** Creates an execute-batch-job task; returns its id. */
export async function createJob(baseUrl, job) {
  return (await postJson(`${baseUrl}/api/2.0/workbench/task/execute-batch-job/create`, job)).id;
}

/** Waits for a task to end and returns its result; `onOutput` gets each new line that its scripts print. */
export async function followJob(baseUrl, id, onOutput) {
  let ended = false;
  const result = (async () => {
    for (;;) {
      const url = `${baseUrl}/api/2.0/workbench/task/execute-batch-job/${id}/result?timeout=${WAIT_S}`;
      const latest = await getJson(url);
      if (latest.status !== 'WAITING' && latest.status !== 'RUNNING') return latest;
    }
  })().finally(() => {
    ended = true;
  });

  let shown = 0;
  const showNew = async (all) => {
    const url = `${baseUrl}/api/2.0/workbench/task/${id}/log`;
    // While its agent changes hubs, the output of a running job is out of reach for a moment.
    const log = await (all ? request(url) : requestInTime(url).catch(() => ''));
    const whole = all ? log.length : log.lastIndexOf('\n') + 1;
    const fresh = log.slice(shown, whole);
    shown = Math.max(shown, whole);
    for (const line of fresh.split('\n')) if (line !== '') onOutput(line);
  };
  while (!ended) {
    await showNew(false);
    await Promise.race([result.catch(() => undefined), delay(LOG_POLL_MS)]);
  }
  const final = await result;
  await showNew(true);
  return final;
}

/** Writes the output files of a result below `folder`; returns their relative paths and sizes. */
export async function saveOutputs(result, folder) {
  const saved = [];
  for (const { directory = '', filename, content } of result.outputFiles ?? []) {
    const bytes = Buffer.from(content, 'base64');
    await mkdir(join(folder, directory), { recursive: true });
    await writeFile(join(folder, directory, filename), bytes);
    saved.push({ path: join(directory, filename), sizeBytes: bytes.length });
  }
  return saved;
}
