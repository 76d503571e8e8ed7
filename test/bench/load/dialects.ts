/** Requests of the load generator: to a hub, or to the HTTP front of a peer. */
import type { Priority } from '@workbench-hub/shared/domain/priority';
import type { HttpAnswer, HttpRequest } from './http-connection.js';

export interface LoadTask {
  /** NOOP: nothing to do. PROCESS: one process, /bin/true. */
  readonly kind: 'NOOP' | 'PROCESS';
  readonly priority?: Priority;
  readonly payload: unknown;
}

export interface Dialect {
  create(task: LoadTask): HttpRequest;
  /** A long poll. */
  result(id: string, kind: LoadTask['kind'], timeoutS: number): HttpRequest;
  /** Undefined as long as the task has not ended; then whether it ended well. */
  ended(answer: HttpAnswer): boolean | undefined;
  /** Number of ended tasks. */
  count(): HttpRequest;
  countIn(answer: HttpAnswer): number;
}

export type DialectName = 'HUB' | 'FRONT';

const TASKS = '/api/2.0/workbench/task';
const KINDS = { NOOP: 'simulate-work', PROCESS: 'execute-batch-job' } as const;
const TRUE = [{ content: Buffer.from('#!/bin/true\n').toString('base64') }];

const hub: Dialect = {
  create: ({ kind, priority, payload }) => {
    // The payload is the name, so that the hub stores as much as the peers.
    const name = JSON.stringify(payload);
    const classifiers =
      priority === undefined ? {} : { classifiers: [{ type: 'PRIORITY', value: priority }] };
    const job = kind === 'NOOP' ? { duration: 0 } : { inputScripts: TRUE };
    return post(`${TASKS}/${KINDS[kind]}/create`, { name, ...job, ...classifiers });
  },
  result: (id, kind, timeoutS) => get(`${TASKS}/${KINDS[kind]}/${id}/result?timeout=${timeoutS}`),
  ended: ({ text }) => {
    const { status } = JSON.parse(text) as { status: string };
    return ['FINISHED', 'FAILED', 'CANCELED'].includes(status) ? status === 'FINISHED' : undefined;
  },
  count: () => get(`${TASKS}/list?status=FINISHED,FAILED&size=1`),
  countIn: ({ text }) => (JSON.parse(text) as { totalElements: number }).totalElements,
};

const front: Dialect = {
  create: (task) => post('/tasks', task),
  result: (id, _kind, timeoutS) => get(`/tasks/${id}/result?timeout=${timeoutS}`),
  ended: ({ status, text }) =>
    status === 200 ? (JSON.parse(text) as { state: string }).state === 'COMPLETED' : undefined,
  count: () => get('/stats'),
  countIn: ({ text }) => (JSON.parse(text) as { ended: number }).ended,
};

export const DIALECTS: Readonly<Record<DialectName, Dialect>> = { HUB: hub, FRONT: front };

function post(path: string, body: unknown): HttpRequest {
  return { method: 'POST', path, body: JSON.stringify(body) };
}

function get(path: string): HttpRequest {
  return { method: 'GET', path };
}
