import { HttpConnection, type HttpRequest } from '../load/http-connection.js';
import { angleAt, MODEL, STEPS } from './point.js';

const CREATE = '/api/2.0/workbench/task/execute-batch-job/create';
const CONNECTIONS = 16;
const POLL_S = 20;
const POLL_STUDY_MS = 50;

const SCRIPT = `data.qpos[0] = Number(angle);
for (let step = 0; step < ${STEPS}; step++) mujoco.mj_step(model, data);
writeFile('angle.txt', String(data.qpos[0]));
`;

interface Result {
  readonly status: string;
  readonly batchExecutionStatus?: string;
  readonly outputFiles?: readonly { readonly filename: string; readonly content: string }[];
}

interface PointPage {
  readonly points: readonly {
    readonly number: number;
    readonly outcome?: string;
    readonly values: { readonly end: string };
  }[];
  readonly next?: number;
}

/** Jobs of the study, with the number that each of them writes. */
const SIMULATION = {
  inputModel: { type: 'MJCF', content: base64(MODEL) },
  inputScripts: [{ content: base64(SCRIPT) }],
  values: [
    {
      name: 'end',
      kind: 'TEXT',
      source: { kind: 'FILE', path: 'angle.txt' },
      reader: { kind: 'REGULAR_EXPRESSION', pattern: '\\S+' },
    },
  ],
};

/** Runs this many points of the study as jobs of the hub at this port; returns the number that each one wrote. */
export async function runPoints(port: number, count: number): Promise<string[]> {
  const numbers = new Array<string>(count);
  const left = numbers.keys();
  const connections = Array.from({ length: CONNECTIONS }, () => new HttpConnection(port));
  try {
    await Promise.all(
      connections.map(async (connection) => {
        for (const point of left) numbers[point] = await runPoint(connection, point);
      }),
    );
  } finally {
    for (const connection of connections) connection.close();
  }
  return numbers;
}

/** Runs the same points as one study; returns the number that each one wrote, which the study has read of it. */
export async function runStudy(port: number, count: number): Promise<string[]> {
  return numbersOfStudy(port, 'FINISHED', SIMULATION, count);
}

/** Runs the same points as one study, several as one task. */
export async function runBundledStudy(port: number, count: number): Promise<string[]> {
  return numbersOfStudy(port, 'FINISHED', { ...SIMULATION, bundle: true }, count);
}

/** Runs that study again, with the results of the first time. Throws unless all points have reused one. */
export async function runStudyAgain(port: number, count: number): Promise<string[]> {
  return numbersOfStudy(port, 'REUSED', { ...SIMULATION, reuse: true }, count);
}

/** Runs a study of jobs that have no model and no values, several points as one task. */
export async function runIdleStudy(port: number, count: number): Promise<string[]> {
  const path = await wholeStudy(port, { inputScripts: [{ content: base64('') }], bundle: true }, count);
  const connection = new HttpConnection(port);
  try {
    const { points } = await request<StudyState>(connection, { method: 'GET', path });
    if (points['FINISHED'] !== count) throw new Error(`points ended as ${JSON.stringify(points)}`);
  } finally {
    connection.close();
  }
  return [];
}

async function numbersOfStudy(
  port: number,
  outcome: 'FINISHED' | 'REUSED',
  definition: object,
  count: number,
): Promise<string[]> {
  const path = await wholeStudy(port, definition, count);
  const connection = new HttpConnection(port);
  try {
    return await numbersOf(connection, path, outcome);
  } finally {
    connection.close();
  }
}

/** Runs a study of this many angles; resolves with its path when it has finished. */
async function wholeStudy(port: number, definition: object, count: number): Promise<string> {
  const points = Array.from({ length: count }, (_, point) => ({ angle: Number(angleAt(point)) }));
  const connection = new HttpConnection(port);
  try {
    const { id } = await request<{ id: string }>(connection, {
      method: 'POST',
      path: '/api/x/studies',
      body: JSON.stringify({
        name: 'benchmark',
        ...definition,
        variables: [{ name: 'angle' }],
        plan: { kind: 'LIST', points },
      }),
    });
    const path = `/api/x/studies/${id}`;
    await studyThat(connection, path, ({ state }) => {
      if (state !== 'FINISHED' && state !== 'RUNNING') throw new Error(`the study ended as ${state}`);
      return state === 'FINISHED';
    });
    return path;
  } finally {
    connection.close();
  }
}

interface StudyState {
  readonly state: string;
  /** Number of points by what has become of them. */
  readonly points: Readonly<Record<string, number>>;
}

/** Asks for a study again and again until it is so. */
async function studyThat(connection: HttpConnection, path: string, is: (study: StudyState) => boolean) {
  while (!is(await request<StudyState>(connection, { method: 'GET', path }))) {
    await new Promise((resolve) => setTimeout(resolve, POLL_STUDY_MS));
  }
}

/** Creates a study that no instance fits; resolves when its first points wait. */
export async function waitingStudy(port: number, count: number): Promise<void> {
  const connection = new HttpConnection(port);
  try {
    const { id } = await request<{ id: string }>(connection, {
      method: 'POST',
      path: '/api/x/studies',
      body: JSON.stringify({
        name: 'waiting',
        inputScripts: [{ content: base64(SCRIPT) }],
        classifiers: [{ type: 'VERSION', value: 'none' }],
        variables: [
          { name: 'angle', lower: 0, upper: 1 },
          { name: 'load', lower: 0, upper: 1 },
        ],
        plan: { kind: 'LATIN_HYPERCUBE', count, seed: 1 },
      }),
    });
    await studyThat(connection, `/api/x/studies/${id}`, ({ points }) => (points['open'] ?? 0) > 0);
  } finally {
    connection.close();
  }
}

async function numbersOf(
  connection: HttpConnection,
  path: string,
  wanted: 'FINISHED' | 'REUSED',
): Promise<string[]> {
  const numbers: string[] = [];
  for (let after: number | undefined = 0; after !== undefined; ) {
    const page: PointPage = await request(connection, {
      method: 'GET',
      path: `${path}/points?limit=10000&after=${after}`,
    });
    for (const { number, outcome, values } of page.points) {
      if (outcome !== wanted) throw new Error(`point ${number} ended with ${outcome}`);
      numbers.push(values.end);
    }
    after = page.next;
  }
  return numbers;
}

async function runPoint(connection: HttpConnection, point: number): Promise<string> {
  const { id } = await request<{ id: string }>(connection, {
    method: 'POST',
    path: CREATE,
    body: JSON.stringify({
      inputModel: { type: 'MJCF', content: base64(MODEL) },
      inputScripts: [{ content: base64(SCRIPT) }],
      variablesToInject: [{ key: 'angle', value: angleAt(point) }],
    }),
  });
  const path = `/api/2.0/workbench/task/execute-batch-job/${id}/result?timeout=${POLL_S}`;
  for (;;) {
    const result = await request<Result>(connection, { method: 'GET', path });
    if (result.status === 'WAITING' || result.status === 'RUNNING') continue;
    const [output] = result.outputFiles ?? [];
    if (result.batchExecutionStatus !== 'OK' || output?.filename !== 'angle.txt') {
      throw new Error(`point ${point} ended with ${JSON.stringify(result)}`);
    }
    return Buffer.from(output.content, 'base64').toString();
  }
}

async function request<T>(connection: HttpConnection, what: HttpRequest): Promise<T> {
  const { status, text } = await connection.request(what);
  if (status >= 400) throw new Error(`${what.method} ${what.path} answered ${status} ${text}`);
  return JSON.parse(text) as T;
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
