/** A server with the part of the API of Kubernetes that kubectl needs for jobs and their pods, whose pods are processes of this machine. */
import { type ChildProcess, spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

const NAMESPACE = 'simulation';
/** Image that no registry has. */
export const MISSING_IMAGE = 'registry.example.com/missing:1';
/** Bound of the API server for a request without its body. */
const MAX_HEADER_BYTES = 2 ** 20;
/** Image of an init container that fails, and is started again and again. */
export const FAILING_IMAGE = 'registry.example.com/failing:1';
/** Image of an init container that works. */
export const WORKING_IMAGE = 'registry.example.com/working:1';
/** Errors of the clocks of the API server and of the nodes: neither is that of the test. */
const SERVER_AHEAD_MS = 7 * 3_600_000;
const NODE_AHEAD_MS = -5 * 3_600_000;

/** Time by a clock with this error, to the second. */
const timeBy = (aheadMs: number) => new Date(Date.now() + aheadMs);
const written = (time: Date) => `${time.toISOString().slice(0, 19)}Z`;

export interface Job {
  readonly metadata: Record<string, unknown> & { readonly labels: Record<string, string> };
  readonly spec: {
    readonly suspend?: boolean;
    readonly template: {
      readonly metadata: { readonly labels: Record<string, string> };
      readonly spec: {
        readonly activeDeadlineSeconds: number;
        /** With one, no node is ever found for the pod. */
        readonly schedulerName?: string;
        readonly containers: readonly { readonly command: readonly string[]; readonly image?: string }[];
        /** The pod stays where the first of them is, in the way that its image says. */
        readonly initContainers?: readonly { readonly name: string; readonly image: string }[];
      };
    };
  };
}

interface Pod {
  /** Image of its init container, if it has one, or that of its container when that cannot be fetched. */
  readonly image?: { readonly of: 'container' | 'init container'; readonly name: string };
  /** Process of a pod that has a node. */
  readonly process: ChildProcess | undefined;
  readonly startTime: string | undefined;
  /** Time at which it got its node, by the clock of the API server. */
  readonly scheduledTime: string | undefined;
  end: string | undefined;
  isDeleted: boolean;
}

interface Entry {
  readonly name: string;
  readonly job: Job;
  readonly pod: Pod | undefined;
  isDeleted: boolean;
}

interface Answer {
  readonly status: number;
  readonly body: object;
}

export class KubernetesApi {
  /** Whether it takes requests and answers none. */
  isHalted = false;
  /** Bound of the jobs that are not deleted; null for none. */
  quota: number | null = null;
  readonly #entries: Entry[] = [];
  #server: Server | undefined;
  #port = 0;

  /** Starts, on the same port as before. */
  async listen(): Promise<void> {
    this.#server = createServer(
      { maxHeaderSize: MAX_HEADER_BYTES },
      (request, response) => void this.#respond(request, response),
    );
    const server = this.#server;
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (server.address() as AddressInfo).port;
  }

  /** Stops; pods go on. */
  async leave(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    server?.closeAllConnections();
    await new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()));
  }

  /** Stops, and ends all pods. */
  async close(): Promise<void> {
    await this.leave();
    for (const { pod } of this.#entries) pod?.process?.kill('SIGKILL');
  }

  /** Writes the configuration with which kubectl finds this server. */
  async writeConfig(path: string): Promise<void> {
    const config = {
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'test' },
      clusters: [{ name: 'test', cluster: { server: `http://127.0.0.1:${this.#port}` } }],
      users: [{ name: 'test', user: {} }],
      contexts: [{ name: 'test', context: { cluster: 'test', user: 'test', namespace: NAMESPACE } }],
    };
    await writeFile(path, JSON.stringify(config));
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    if (this.isHalted) return;
    const { status, body: answer } = this.#answerTo(request, body);
    const type = { 'content-type': 'application/json', date: timeBy(SERVER_AHEAD_MS).toUTCString() };
    response.writeHead(status, type).end(Buffer.isBuffer(answer) ? answer : JSON.stringify(answer));
  }

  #answerTo({ method, url = '' }: IncomingMessage, body: string): Answer {
    const { pathname, searchParams } = new URL(url, 'http://localhost');
    if (pathname === '/openapi/v2') return { status: 200, body: DRY_RUNS };
    const discovered = DISCOVERY[pathname];
    if (discovered) return { status: 200, body: discovered };
    const [, namespace, kind, name] =
      /^\/(?:api\/v1|apis\/batch\/v1)\/namespaces\/([^/]+)\/(jobs|pods)(?:\/([^/]+))?$/.exec(pathname) ?? [];
    if (kind === undefined) return notFound('the server could not find the requested resource');
    if (namespace !== NAMESPACE) return notFound(`namespaces "${namespace}" not found`);
    if (method === 'POST') return this.#create(JSON.parse(body) as Job, searchParams.get('dryRun') === 'All');
    if (method === 'DELETE' && name !== undefined) return this.#delete(name);
    const selector = searchParams.get('labelSelector') ?? '';
    const selected = this.#entries.filter(({ job }) => isSelected(job, selector));
    if (kind === 'jobs') {
      const items = selected.filter(({ isDeleted }) => !isDeleted).map(jobOf);
      return { status: 200, body: { kind: 'JobList', apiVersion: 'batch/v1', metadata: {}, items } };
    }
    const items = selected.flatMap((entry) =>
      entry.pod && !entry.pod.isDeleted ? [podOf(entry, entry.pod)] : [],
    );
    return { status: 200, body: { kind: 'PodList', apiVersion: 'v1', metadata: {}, items } };
  }

  #create(job: Job, isTrial: boolean): Answer {
    const name = `${String(job.metadata['generateName'])}${this.#entries.length}`;
    const used = this.#entries.filter(({ isDeleted }) => !isDeleted).length;
    if (this.quota !== null && used >= this.quota) return exceeded(this.quota, used);
    const entry: Entry = {
      ...{ name, job, isDeleted: false },
      pod: isTrial || job.spec.suspend ? undefined : startPod(job),
    };
    if (!isTrial) this.#entries.push(entry);
    return { status: 201, body: { kind: 'Job', apiVersion: 'batch/v1', ...jobOf(entry) } };
  }

  #delete(name: string): Answer {
    const entry = this.#entries.find((each) => each.name === name && !each.isDeleted);
    if (!entry) return notFound(`jobs.batch "${name}" not found`);
    entry.isDeleted = true;
    const { pod } = entry;
    if (pod) deletePod(pod);
    return { status: 200, body: { kind: 'Status', apiVersion: 'v1', status: 'Success' } };
  }
}

function deletePod(pod: Pod): void {
  const remove = () => {
    pod.isDeleted = true;
  };
  if (pod.process === undefined || pod.end !== undefined) remove();
  else {
    pod.process.once('exit', remove);
    pod.process.kill('SIGTERM');
  }
}

function startPod(job: Job): Pod {
  const { activeDeadlineSeconds, containers, initContainers = [], schedulerName } = job.spec.template.spec;
  if (schedulerName !== undefined)
    return {
      ...{ process: undefined, startTime: undefined, scheduledTime: undefined },
      ...{ end: undefined, isDeleted: false },
    };
  const times = {
    startTime: written(timeBy(NODE_AHEAD_MS)),
    scheduledTime: written(timeBy(SERVER_AHEAD_MS)),
  };
  const [first] = initContainers;
  const waits = { ...times, process: undefined, end: undefined, isDeleted: false };
  if (first) return { ...waits, image: { of: 'init container', name: first.image } };
  if (containers[0]?.image === MISSING_IMAGE)
    return { ...waits, image: { of: 'container', name: MISSING_IMAGE } };
  const [command = '', ...args] = containers[0]?.command ?? [];
  const started = spawn(command, args, { stdio: 'ignore', timeout: activeDeadlineSeconds * 1000 });
  const pod: Pod = {
    ...times,
    ...{ process: started, end: undefined, isDeleted: false },
  };
  started.once('exit', (code) => {
    pod.end = String(code ?? 143);
  });
  return pod;
}

function jobOf({ name, job, pod }: Entry): object {
  const conditions =
    pod?.end === undefined
      ? []
      : [
          pod.end === '0'
            ? { type: 'Complete', status: 'True' }
            : { type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded' },
        ];
  return {
    metadata: { ...job.metadata, name, namespace: NAMESPACE, uid: name },
    spec: job.spec,
    status: { conditions },
  };
}

function podOf({ name, job: { spec, metadata } }: Entry, pod: Pod): object {
  const { template } = spec;
  return {
    metadata: {
      name: `${name}-x`,
      namespace: NAMESPACE,
      labels: { ...metadata.labels, ...template.metadata.labels, 'job-name': name },
    },
    spec: template.spec,
    status: statusOf(pod),
  };
}

function statusOf({ end, startTime, scheduledTime, image }: Pod): object {
  if (startTime === undefined) {
    const message = '0/3 nodes are available:\n3 Insufficient cpu.';
    const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message };
    return { phase: 'Pending', conditions: [condition] };
  }
  const conditions = [{ type: 'PodScheduled', status: 'True', lastTransitionTime: scheduledTime }];
  if (image !== undefined) return { phase: 'Pending', startTime, conditions, ...waitingStatuses(image) };
  if (end === undefined) {
    const containerStatuses = [{ name: 'agent', state: { running: {} } }];
    return { phase: 'Running', startTime, conditions, containerStatuses };
  }
  const terminated = { exitCode: Number(end), reason: end === '0' ? 'Completed' : 'Error' };
  return {
    ...{ phase: end === '0' ? 'Succeeded' : 'Failed', startTime, conditions },
    containerStatuses: [{ name: 'agent', state: { terminated } }],
  };
}

/** Statuses of the containers of a pod that has its node and does not run. A container waits with a reason of its own until all before it have ended. */
function waitingStatuses({ of, name }: NonNullable<Pod['image']>): object {
  const [reason, message] = {
    [MISSING_IMAGE]: ['ImagePullBackOff', `Back-off pulling image "${name}":\nnot found`],
    [FAILING_IMAGE]: ['CrashLoopBackOff', 'back-off 40s restarting failed container=fetch pod=workbench-x'],
  }[name] ?? ['PodInitializing', undefined];
  const waiting = { reason, ...(message === undefined ? {} : { message }) };
  if (of === 'container') return { containerStatuses: [{ name: 'agent', state: { waiting } }] };
  const isOver = name === WORKING_IMAGE;
  const ended = { terminated: { exitCode: 0, reason: 'Completed' } };
  return {
    initContainerStatuses: [{ name: 'fetch', state: isOver ? ended : { waiting } }],
    containerStatuses: [{ name: 'agent', state: { waiting: { reason: 'PodInitializing' } } }],
  };
}

/** Whether the labels of a job are those of a selector, `label=value` or `label in (value,…)`. */
function isSelected({ metadata: { labels } }: Job, selector: string): boolean {
  const [, label = '', value, values = value ?? ''] = /^(\S+?)(?:=(\S+)| in \((.*)\))$/.exec(selector) ?? [];
  return values.split(',').includes(labels[label] ?? '');
}

function exceeded(quota: number, used: number): Answer {
  const counts = `requested: count/jobs.batch=1, used: count/jobs.batch=${used}, limited: count/jobs.batch=${quota}`;
  const message = `jobs.batch "workbench" is forbidden: exceeded quota: hosts, ${counts}`;
  const status = { status: 'Failure', reason: 'Forbidden', code: 403 };
  return { status: 403, body: { kind: 'Status', apiVersion: 'v1', message, ...status } };
}

function notFound(message: string): Answer {
  const status = { status: 'Failure', reason: 'NotFound', code: 404 };
  return { status: 404, body: { kind: 'Status', apiVersion: 'v1', message, ...status } };
}

/** A message of Protocol Buffers whose fields are shorter than 128 bytes, or messages themselves. */
function message(...fields: readonly (readonly [number: number, value: string | Buffer])[]): Buffer {
  const parts = fields.flatMap(([number, value]) => {
    const bytes = Buffer.from(value);
    return [Buffer.from([(number << 3) | 2, (bytes.length & 0x7f) | 0x80, bytes.length >> 7]), bytes];
  });
  return Buffer.concat(parts);
}

/** Description of the interface (OpenAPI 2.0) that says of jobs that the server can try them. kubectl 1.20 takes no other form. */
const DRY_RUNS = (() => {
  const parameter = message([2, message([3, message([2, 'query'], [4, 'dryRun'])])]);
  const kind = message([2, 'group: batch\nkind: Job\nversion: v1\n']);
  const extension = message([1, 'x-kubernetes-group-version-kind'], [2, kind]);
  const patch = message([8, message([1, parameter])], [13, extension]);
  const path = message([1, '/apis/batch/v1/namespaces/{namespace}/jobs/{name}'], [2, message([8, patch])]);
  return message([1, '2.0'], [8, message([2, path])]);
})();

const resource = (name: string, kind: string) => ({
  ...{ name, singularName: '', namespaced: true, kind },
  verbs: ['create', 'delete', 'get', 'list'],
});

/** Answers to what kubectl asks first, by path. */
const DISCOVERY: Readonly<Record<string, object>> = {
  '/version': { major: '1', minor: '32', gitVersion: 'v1.32.0' },
  '/api': { kind: 'APIVersions', versions: ['v1'] },
  '/apis': {
    ...{ kind: 'APIGroupList', apiVersion: 'v1' },
    groups: [
      {
        name: 'batch',
        versions: [{ groupVersion: 'batch/v1', version: 'v1' }],
        preferredVersion: { groupVersion: 'batch/v1', version: 'v1' },
      },
    ],
  },
  '/api/v1': { kind: 'APIResourceList', groupVersion: 'v1', resources: [resource('pods', 'Pod')] },
  '/apis/batch/v1': {
    ...{ kind: 'APIResourceList', groupVersion: 'batch/v1' },
    resources: [resource('jobs', 'Job')],
  },
};
