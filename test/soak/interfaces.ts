/** One use of each interface, as the mixed load repeats it. Names are of a small fixed set, so that what is kept by name stays bounded. */
import { randomBytes } from 'node:crypto';
import { base64 } from '../support/interface/rest-client.js';
import type { SeededRandom } from '../support/random.js';
import { keepSecret } from '../support/secrets.js';
import type { Caller } from './caller.js';

export interface UseContext {
  readonly caller: Caller;
  readonly random: SeededRandom;
  /** Access tokens of a USER, and of an ADMIN. */
  readonly token: string;
  readonly operatorToken: string;
  /** Address that tells of the ends of tasks. */
  readonly notify: string;
}

/** A user of the configuration, who logs in with a password. */
export const LOGS_IN = { username: 'soak', password: 'the password of the soak' };

/** Resolves with whether the interface did what was asked of it. */
type Use = (context: UseContext) => Promise<boolean>;

const TASKS = '/api/2.0/workbench/task';
const INPUTS = '/api/2.0/storage/input';
const UPLOADS = '/api/x/storage/input/uploads';
const TUS = { 'tus-resumable': '1.0.0' };
const FOLLOW_MS = 1500;
const UPLOAD_BYTES = 100_000;

const STORES =
  '#!/bin/sh\ncat "$WORKBENCH_MODEL" > "$WORKBENCH_OUTPUT_STORAGE/copy.txt"\necho stored > note.txt\n';
const PRINTS = '#!/bin/sh\nfor line in 1 2 3 4 5 6 7 8; do echo "line $line"; sleep 0.1; done\n';

const NOWHERE = [{ type: 'VERSION', value: 'none' }];

export const USES: Readonly<Record<string, Use>> = {
  'tasks of the first generation': async ({ caller, token, random }) => {
    const base = '/api/1.0/workbench/task';
    const body = { inputScripts: [{ content: base64('#!/bin/sh\necho one\n') }] };
    const task = await caller.json<{ id: string }>('POST', `${base}/execute-batch-job/create`, {
      token,
      body,
    });
    if (!task) return false;
    if (random.oneIn(4)) await caller.call('DELETE', `${base}/${task.id}/cancel`, { token });
    const path = `${base}/execute-batch-job/${task.id}/result?timeout=2`;
    const result = await caller.json<{ status: string }>('GET', path, { token });
    await caller.call('GET', `${base}/list/waiting?page=0&size=5`, { token });
    return result !== undefined;
  },
  uploads: async ({ caller, token, random }) => {
    const name = `soak-${random.below(4)}.txt`;
    const form = new FormData();
    form.append('file', new Blob([randomBytes(UPLOAD_BYTES)]), name);
    const encrypt = random.oneIn(2);
    const path = `${INPUTS}/upload?overwrite=true&encrypt=${encrypt}`;
    const answer = await caller.call('POST', path, { token, body: form });
    await caller.call('GET', `${INPUTS}/${name}?renewExpirationTimestamp=true`, { token });
    if (random.oneIn(3)) await caller.call('DELETE', `${INPUTS}/${name}/delete`, { token });
    return answer?.status === 204;
  },
  'resumable uploads': async ({ caller, token, random }) => {
    const name = Buffer.from(`resumed-${random.below(4)}.txt`).toString('base64');
    const begin = { ...TUS, 'upload-length': String(UPLOAD_BYTES), 'upload-metadata': `filename ${name}` };
    const path = `${UPLOADS}?overwrite=true`;
    const upload = await caller.json<{ id: string }>('POST', path, { token, headers: begin });
    if (!upload) return false;
    const send = (from: number, to: number) =>
      caller.call('PATCH', `${UPLOADS}/${upload.id}`, {
        token,
        body: randomBytes(to - from),
        headers: {
          ...TUS,
          'content-type': 'application/offset+octet-stream',
          'upload-offset': String(from),
        },
      });
    await send(0, UPLOAD_BYTES / 2);
    if (random.oneIn(4)) return true; // it is left as it is
    await caller.call('HEAD', `${UPLOADS}/${upload.id}`, { token, headers: TUS });
    const last = await send(UPLOAD_BYTES / 2, UPLOAD_BYTES);
    await caller.call('DELETE', `${UPLOADS}/${upload.id}`, { token, headers: TUS });
    return last?.status === 204;
  },
  downloads: async ({ caller, token, random }) => {
    const name = `model-${random.below(3)}.txt`;
    const form = new FormData();
    form.append('file', new Blob([randomBytes(UPLOAD_BYTES)]), name);
    await caller.call('POST', `${INPUTS}/upload?overwrite=true`, { token, body: form });
    const body = {
      inputModelReference: { type: 'INPUT_STORAGE', parameters: [{ key: 'name', value: name }] },
      inputScripts: [{ content: base64(STORES) }],
    };
    const task = await caller.json<{ id: string }>('POST', `${TASKS}/execute-batch-job/create`, {
      token,
      body,
    });
    if (!task) return false;
    await caller.call('GET', `${TASKS}/execute-batch-job/${task.id}/result?timeout=4`, { token });
    const range = random.oneIn(2) ? { range: 'bytes=10-99' } : {};
    const output = `/api/2.0/storage/output/${task.id}-copy.txt/download`;
    const answer = await caller.call('GET', output, { token, headers: range });
    for (const what of ['inputs', 'outputs', 'outputs/note.txt', 'archive', 'manifest'])
      await caller.call('GET', `/api/x/tasks/${task.id}/${what}`, { token });
    return answer?.status === 200 || answer?.status === 206;
  },
  lists: async ({ caller, operatorToken: token, random }) => {
    const paths = [
      `${TASKS}/list?status=FINISHED&name=*1*&page=0&size=20`,
      '/api/1.0/workbench/task/list?page=0&size=20',
      '/api/x/tasks?limit=20&status=WAITING',
      '/api/x/storage/input?prefix=soak',
      '/api/x/storage/output?limit=5',
      '/api/x/statistics?step=HOUR',
      '/api/x/audit?limit=10',
      '/api/x/agents?page=0&size=5',
      '/api/x/hubs',
      '/api/x/upstreams',
      '/api/x/rollout',
      '/api/x/hosts',
      '/api/x/hosts/hours',
      '/api/x/manifest-keys',
      '/api/2.0/workbench/node/instance/list?size=20',
      '/actuator/prometheus',
      '/actuator/health',
      '/openapi.json',
    ];
    return (await caller.call('GET', random.of(paths), { token }))?.status === 200;
  },
  'event streams': async ({ caller, token, random }) => {
    const page = await caller.json<{ cursor: string }>('GET', '/api/x/tasks?limit=1', { token });
    if (!page) return false;
    const since = random.oneIn(2) ? `&since=${page.cursor}` : '';
    const text = await caller.follow(`/api/x/events?timeout=5${since}`, token, random.below(2 * FOLLOW_MS));
    return text.includes('event: hello');
  },
  'followed logs': async ({ caller, token, random }) => {
    const body = { inputScripts: [{ content: base64(PRINTS) }] };
    const task = await caller.json<{ id: string }>('POST', `${TASKS}/execute-batch-job/create`, {
      token,
      body,
    });
    if (!task) return false;
    const forMs = FOLLOW_MS + random.below(2 * FOLLOW_MS);
    const text = await caller.follow(`/api/x/tasks/${task.id}/log?follow=true`, token, forMs);
    await caller.call('GET', `${TASKS}/${task.id}/log?tail=2`, { token });
    return text.length > 0;
  },
  webhooks: async ({ caller, token, random, notify }) => {
    const body = { type: 'SIMULATE_WORK', duration: random.below(2), notify };
    const task = await caller.json<{ id: string }>('POST', '/api/x/tasks', { token, body });
    if (task) await caller.call('GET', `/api/x/tasks/${task.id}`, { token });
    return task !== undefined;
  },
  tokens: async ({ caller, random }) => {
    const logIn = await caller.json<{ accessToken: string }>('POST', '/api/2.0/auth/login', {
      body: LOGS_IN,
    });
    if (!logIn) return false;
    const token = logIn.accessToken;
    const body = { name: 'soak', expiresInDays: 1, role: 'USER' };
    const made = await caller.json<{ id: string; token: string }>('POST', '/api/x/tokens', { token, body });
    if (!made) return false;
    keepSecret(made.token);
    await caller.call('GET', '/api/x/caller', { token: made.token });
    if (random.oneIn(3)) return true; // the calm revokes it
    return (await caller.call('DELETE', `/api/x/tokens/${made.id}`, { token }))?.status === 204;
  },
  'log-ins': async ({ caller, random }) => {
    const answer = await caller.call('POST', '/api/2.0/auth/login', { body: LOGS_IN });
    let cookie = answer?.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    if (cookie === '') return false;
    keepSecret(cookie.split('=')[1] ?? '');
    const refreshed = await caller.call('GET', '/api/2.0/auth/refresh', { headers: { cookie } });
    cookie = refreshed?.headers.getSetCookie()[0]?.split(';')[0] ?? cookie;
    keepSecret(cookie.split('=')[1] ?? '');
    for (const { text } of [answer, refreshed].filter((one) => one?.status === 200) as { text: string }[])
      keepSecret((JSON.parse(text) as { accessToken: string }).accessToken);
    if (!random.oneIn(4)) await caller.call('GET', '/api/2.0/auth/logout', { headers: { cookie } });
    return answer?.status === 200;
  },
  refusals: async ({ caller, token, random }) => {
    const refused: readonly [number, () => Promise<{ status: number } | undefined>][] = [
      [
        400,
        () => caller.call('POST', `${TASKS}/execute-batch-job/create`, { token, body: { inputScripts: 1 } }),
      ],
      [401, () => caller.call('GET', '/api/2.0/user', { token: 'no token of this hub' })],
      [401, () => caller.call('GET', `${TASKS}/list`)],
      [403, () => caller.call('GET', '/api/x/audit', { token })],
      [404, () => caller.call('GET', `${TASKS}/${crypto.randomUUID()}`, { token })],
      [404, () => caller.call('GET', '/nowhere', { token })],
      [404, () => caller.call('DELETE', `${TASKS}/nobody/cancel`, { token })],
      [
        401,
        () =>
          caller.call('POST', '/api/2.0/auth/login', {
            body: { username: 'stranger', password: 'a wrong one' },
          }),
      ],
    ];
    const [status, refuse] = random.of(refused);
    return (await refuse())?.status === status;
  },
  administration: async ({ caller, operatorToken: token, random }) => {
    const agent = `/api/x/agents/${random.of(['a', 'b', 'c'])}`;
    await caller.call('POST', `${agent}/drain`, { token });
    const answer = await caller.call('POST', `${agent}/undrain`, { token });
    const body = { classifiers: random.oneIn(2) ? NOWHERE : [] };
    await caller.call('POST', '/api/x/explain', { token, body });
    const filter = { name: 'nothing*' };
    await caller.call('POST', '/api/x/tasks/cancel', { token, body: { filter, dryRun: true } });
    return answer?.status === 200;
  },
};
