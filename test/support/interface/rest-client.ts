/** The few REST calls that scenarios make, over the wire. */
import { keepSecretsOf, keepSecretsOfHeaders } from '../secrets.js';

const TASK = '/api/2.0/workbench/task';

export interface JobFile {
  readonly directory?: string;
  readonly filename: string;
  readonly content: string;
}

export interface JobResult {
  readonly status: string;
  readonly id: string;
  readonly batchExecutionStatus?: string;
  readonly message?: string;
  readonly executingWorkbench?: { readonly id: string; readonly version: string; readonly revision: string };
  readonly outputFiles?: readonly JobFile[];
}

export interface InstanceBody {
  readonly id: string;
  readonly status: string;
  readonly working: boolean;
}

export function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}

/** The contents of a result's files as text, by path. */
export function outputsOf(result: JobResult): Record<string, string> {
  return Object.fromEntries(
    (result.outputFiles ?? []).map(({ directory, filename, content }) => [
      directory === undefined ? filename : `${directory}/${filename}`,
      Buffer.from(content, 'base64').toString(),
    ]),
  );
}

type Fetch = (
  url: string,
  init?: RequestInit,
) => Promise<Pick<Response, 'status' | 'text'> & { readonly headers: { get(name: string): string | null } }>;

/** `send` is another way to the hub than plain `fetch`, for one with TLS for instance. */
export function restClient(baseUrl: string, send: Fetch = fetch) {
  const call = async (path: string, init?: RequestInit) => {
    const response = await send(`${baseUrl}${path}`, init);
    const text = await response.text();
    if (init?.headers) keepSecretsOfHeaders(new Headers(init.headers));
    if (response.headers.get('content-type') === 'application/json') keepSecretsOf(JSON.parse(text));
    return { status: response.status, text, json: () => JSON.parse(text) as unknown };
  };
  const create = async (kind: string, body: unknown): Promise<string> => {
    const answer = await call(`${TASK}/${kind}/create`, { method: 'POST', body: JSON.stringify(body) });
    if (answer.status !== 201) throw new Error(`create answered ${answer.status}: ${answer.text}`);
    return (answer.json() as { id: string }).id;
  };
  return {
    call,
    createBatchJob: (body: unknown) => create('execute-batch-job', body),
    createSimulateWork: (body: unknown) => create('simulate-work', body),
    /** Long-polls until the task has ended. */
    async batchJobResult(id: string): Promise<JobResult> {
      for (;;) {
        const answer = await call(`${TASK}/execute-batch-job/${id}/result?timeout=30`);
        if (answer.status !== 200) throw new Error(`result answered ${answer.status}: ${answer.text}`);
        const result = answer.json() as JobResult;
        if (result.status !== 'WAITING' && result.status !== 'RUNNING') return result;
      }
    },
    async instances(query = ''): Promise<InstanceBody[]> {
      return (
        (await call(`/api/2.0/workbench/node/instance/list?size=2000${query}`)).json() as {
          content: InstanceBody[];
        }
      ).content;
    },
    async log(id: string): Promise<string> {
      return (await call(`${TASK}/${id}/log`)).text;
    },
    cancel: (id: string, force: boolean) => call(`${TASK}/${id}/cancel?force=${force}`, { method: 'DELETE' }),
  };
}
