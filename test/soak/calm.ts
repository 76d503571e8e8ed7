/** The calm between two rounds: no fault, no load, and all that users have made is removed. */
import { openTasks } from '../chaos/audit.js';
import type { Cluster } from '../chaos/cluster.js';
import { eventually } from '../support/eventually.js';
import { LOGS_IN } from './interfaces.js';

interface CalmOptions {
  readonly cluster: Cluster;
  /** Time in which each step must come true. */
  readonly limitMs: number;
}

/** A person who calls a hub. */
interface Caller {
  readonly baseUrl: string;
  readonly token: string;
}

interface RequestParts {
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Page<T> {
  readonly content: readonly T[];
}

const AGENTS_INSTANCES = 6;

/** Removes all faults, and waits until hubs, agents and instances are there and no task is open. */
export async function becomeQuiet({ cluster, limitMs }: CalmOptions): Promise<void> {
  cluster.heal();
  for (const host of [...cluster.parts.hubs, ...cluster.parts.agents]) cluster.setClock(host, 0);
  const { hubs, agents, operatorToken: token } = cluster.parts;
  await eventually(async () => {
    const { serving } = cluster;
    if (serving.length < hubs.length) throw new Error(`only ${serving.length} hubs serve`);
    const operator = { baseUrl: serving[0] ?? '', token };
    for (const { name } of agents) await ask(operator, 'POST', `/api/x/agents/${name}/undrain`);
    const open = await openTasks(operator.baseUrl, token);
    if (open > 0) throw new Error(`${open} tasks are open`);
    for (const baseUrl of serving) {
      const { content } = await ask<Page<{ status: string; working: boolean }>>(
        { baseUrl, token },
        'GET',
        '/api/2.0/workbench/node/instance/list?size=50',
      );
      const idle = content.filter(({ status, working }) => status === 'UP' && !working).length;
      if (idle < AGENTS_INSTANCES)
        throw new Error(`only ${idle} instances are idle: ${JSON.stringify(content)}`);
    }
    return true;
  }, limitMs);
}

/** Removes all that the load has made; outputs, which nobody can delete, expire. */
export async function removeAll({ cluster, limitMs }: CalmOptions): Promise<void> {
  const { token, operatorToken } = cluster.parts;
  await eventually(async () => {
    const [baseUrl = ''] = cluster.serving;
    const asOperator = <T>(method: string, path: string, body?: unknown) =>
      ask<T>({ baseUrl, token: operatorToken }, method, path, { body });
    await asOperator('POST', '/api/x/tasks/cancel', { filter: {}, dryRun: false, force: true });
    await asOperator('POST', '/api/x/tasks/delete', { filter: {}, dryRun: false });
    const tokens = await asOperator<Page<{ id: string }>>(
      'GET',
      `/api/x/tokens?user=${LOGS_IN.username}&page=0&size=100`,
    );
    for (const { id } of tokens.content) await asOperator('DELETE', `/api/x/tokens/${id}`);
    await asOperator('DELETE', `/api/x/users/${LOGS_IN.username}/sessions`);
    for (const whose of [token, operatorToken]) await removeFilesOf({ baseUrl, token: whose });
    const left = await asOperator<{ totalElements: number }>('GET', '/api/2.0/workbench/task/list?size=1');
    if (left.totalElements > 0) throw new Error(`${left.totalElements} tasks are left`);
    return true;
  }, limitMs);
}

/** Removes unfinished uploads and input files of a caller. */
async function removeFilesOf(caller: Caller): Promise<void> {
  const headers = { 'tus-resumable': '1.0.0' };
  const uploads = await ask<{ uploads: readonly { id: string }[] }>(
    caller,
    'GET',
    '/api/x/storage/input/uploads',
  );
  for (const { id } of uploads.uploads)
    await ask(caller, 'DELETE', `/api/x/storage/input/uploads/${id}`, { headers });
  const files = await ask<{ files: readonly { name: string }[] }>(
    caller,
    'GET',
    '/api/x/storage/input?limit=100',
  );
  for (const { name } of files.files) await ask(caller, 'DELETE', `/api/2.0/storage/input/${name}/delete`);
}

async function ask<T>(
  { baseUrl, token }: Caller,
  method: string,
  path: string,
  { body, headers = {} }: RequestParts = {},
): Promise<T> {
  const response = await fetch(`${baseUrl}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(10_000),
  });
  const text = await response.text();
  const isGone = method === 'DELETE' && response.status === 404;
  if (!response.ok && !isGone)
    throw new Error(`${method} ${path} was answered with ${response.status} ${text}`);
  return (text === '' || isGone ? undefined : JSON.parse(text)) as T;
}
