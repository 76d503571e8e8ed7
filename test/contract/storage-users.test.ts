/** Roles in the storage beyond those of the endpoints, and the quota of each user. */
import { Hub } from '@workbench-hub/client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HandDrivenRuntime } from '../support/engine/hand-driven-runtime.js';
import { eventually } from '../support/eventually.js';
import { HUBS } from '../support/hubs/hubs-under-test.js';
import { type HubSetup, type RunningHub, startHub, USERS } from '../support/hubs/running-hub.js';
import { Api, expectError } from '../support/interface/api.js';
import { formWithFile } from '../support/interface/forms.js';

const INPUT = '/api/2.0/storage/input';
const UPLOAD = `${INPUT}/upload`;
const HOUR_MS = 3_600_000;
const FILE = `${INPUT}/gear.wbpz`;

let runtime: HandDrivenRuntime;
let hub: RunningHub;
let as: Record<keyof typeof USERS, Api>;
const start = async (setup: HubSetup) => {
  runtime = new HandDrivenRuntime();
  hub = await startHub({ runtime, users: USERS, ...setup });
  const api = new Api(hub);
  const [vera, ulla, udo, anna] = await Promise.all(
    Object.keys(USERS).map((username) => api.asUser(username)),
  );
  as = { vera, ulla, udo, anna } as typeof as;
};
afterEach(() => hub.stop());

const upload = (who: keyof typeof USERS, name: string, bytes: number, query = '') =>
  as[who].call('POST', UPLOAD + query, formWithFile(name, Buffer.alloc(bytes, 'x')));

const FOREIGN =
  'gear.wbpz is a file of ulla: only its owner and the role ADMIN may overwrite, renew or delete it (storage.input.shared)';

describe('the file of another user', () => {
  const remove = (who: keyof typeof USERS) => as[who].delete(`${FILE}/delete`);
  const contentBytes = async () => {
    const { body } = await as.vera.get('/api/x/storage/input');
    return (body['files'] as Record<string, unknown>[]).map(({ owner, size }) => [owner, size]);
  };

  it('is overwritten and deleted by its owner and ADMIN only', async () => {
    await start({});
    await upload('ulla', 'gear.wbpz', 1);
    const answer = await upload('udo', 'gear.wbpz', 2, '?overwrite=true');
    expectError(answer, 403, UPLOAD, FOREIGN);
    expect(answer.headers.get('x-error-code')).toBe('STORED_FILE_FOREIGN');
    expectError(await remove('udo'), 403, `${FILE}/delete`, FOREIGN);
    expect(await contentBytes()).toEqual([['ulla', 1]]);
    expect((await upload('ulla', 'gear.wbpz', 3, '?overwrite=true')).status).toBe(204);
    expect((await remove('ulla')).status).toBe(204);
    expect((await remove('udo')).status).toBe(204);
    expect((await upload('udo', 'gear.wbpz', 4, '?overwrite=true')).status).toBe(204);
    expect((await upload('anna', 'gear.wbpz', 5, '?overwrite=true')).status).toBe(204);
    expect(await contentBytes()).toEqual([['anna', 5]]);
    expect((await remove('udo')).status).toBe(403);
    expect((await remove('anna')).status).toBe(204);
  });

  it('is not replaced by a resumable upload, also one that began before the file', async () => {
    await start({});
    const uploads = '/api/x/storage/input/uploads';
    const tus = { 'tus-resumable': '1.0.0' };
    const begin = () =>
      as.udo.call('POST', `${uploads}?overwrite=true`, {
        headers: {
          ...tus,
          'upload-length': '10',
          'upload-metadata': `filename ${Buffer.from('gear.wbpz').toString('base64')}`,
        },
      });
    const path = `${uploads}/${(await begin()).body['id']}`;
    await upload('ulla', 'gear.wbpz', 1);
    const part = { ...tus, 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' };
    // Another hub than the one of the upload asks to try again.
    const refused = await eventually(async () => {
      const answer = await as.udo.call('PATCH', path, { raw: Buffer.alloc(10), headers: part });
      return answer.status === 503 ? undefined : answer;
    });
    expectError(refused, 403, path, FOREIGN);
    expectError(await begin(), 403, uploads, FOREIGN);
    expect(await contentBytes()).toEqual([['ulla', 1]]);
  });

  it('is neither used by a client with the same content, nor in its way', async () => {
    await start({});
    const digestOf = async (content: Blob) =>
      Buffer.from(await crypto.subtle.digest('SHA-256', await content.arrayBuffer())).toString('hex');
    const mesh = new Blob([Buffer.alloc(300_000, 'm')]);
    const digest = await digestOf(mesh);
    const shared = `content-${digest.slice(0, 32)}`;
    await upload('ulla', shared, 1);
    for (let time = 0; time < 2; time++) {
      const client = new Hub({ url: hub.address, token: as.udo.token ?? '' });
      const task = await client.submit({ scripts: ['1'], files: { mesh } });
      const { inputs } = await task.details();
      const path = inputs.find(({ kind }) => kind === 'ADDITIONAL_FILE')?.path ?? '';
      expect(await digestOf(await (await task.input(path)).blob())).toBe(digest);
    }
    const { body } = await as.vera.get('/api/x/storage/input');
    const files = body['files'] as Record<string, unknown>[];
    expect(files).toHaveLength(2);
    expect(files).toContainEqual(expect.objectContaining({ name: shared, owner: 'ulla' }));
    expect(files).toContainEqual(expect.objectContaining({ digest, owner: 'udo' }));
  });

  it('is changed by every USER with storage.input.shared', async () => {
    await start({ config: { storage: { input: { shared: true } } } });
    await upload('ulla', 'gear.wbpz', 1);
    expect((await upload('udo', 'gear.wbpz', 2, '?overwrite=true')).status).toBe(204);
    expect((await as.ulla.get(`${FILE}?renewExpirationTimestamp=true`)).body).toEqual({ exists: true });
    expect((await remove('vera')).status).toBe(403);
    expect((await remove('ulla')).status).toBe(204);
  });
});

describe('the expiry of a file', () => {
  const lifetime = {
    config: { storage: { input: { expireAfter: '1h' } }, security: { accessTokenLifetime: '1d' } },
  };
  const renew = (who: keyof typeof USERS) => as[who].get(`${FILE}?renewExpirationTimestamp=true`);
  beforeEach(() => start(lifetime));

  it('can be renewed by the owner and ADMIN, and by no other', async () => {
    await upload('ulla', 'gear.wbpz', 1);
    runtime.skip(HOUR_MS - 1);
    expectError(await renew('vera'), 403, FILE, 'this requires the role USER; vera has VIEWER');
    expect((await as.vera.get(FILE)).body).toEqual({ exists: true });
    expectError(await renew('udo'), 403, FILE, FOREIGN);
    expect((await renew('anna')).body).toEqual({ exists: true });
    runtime.skip(HOUR_MS - 1);
    expect((await renew('ulla')).body).toEqual({ exists: true });
    runtime.skip(HOUR_MS - 1);
    expect((await as.vera.get(`${FILE}?renewExpirationTimestamp=false`)).body).toEqual({ exists: true });
    runtime.skip(1);
    expect((await as.vera.get(FILE)).body).toEqual({ exists: false });
  });

  it('is refused to a VIEWER with the same message when the file does not exist', async () => {
    expectError(await renew('vera'), 403, FILE, 'this requires the role USER; vera has VIEWER');
    expect((await renew('ulla')).body).toEqual({ exists: false });
  });
});

describe('storage.input.quotaPerUser', () => {
  const over = (usedBytes: number) =>
    `file: your other files in the input storage have ${usedBytes} bytes, of 1000 that you may have ` +
    '(storage.input.quotaPerUser); delete some, or wait until they expire';
  beforeEach(() =>
    start({
      config: {
        storage: { input: { expireAfter: '1h', quotaPerUser: 1000 } },
        security: { accessTokenLifetime: '1d' },
      },
    }),
  );

  it('applies to each user separately', async () => {
    expect((await upload('ulla', 'ullas.wbpz', 1000)).status).toBe(204);
    expect((await upload('udo', 'udos.wbpz', 1000)).status).toBe(204);
    expectError(await upload('ulla', 'more.wbpz', 1), 413, UPLOAD, over(1000));
    expect((await as.ulla.get(`${INPUT}/more.wbpz`)).body).toEqual({ exists: false });
    expect((await upload('ulla', 'empty.wbpz', 0)).status).toBe(204);
  });

  it('no longer counts a replaced file for its owner', async () => {
    await upload('ulla', 'gear.wbpz', 900);
    expect((await upload('ulla', 'gear.wbpz', 1000, '?overwrite=true')).status).toBe(204);
    expectError(await upload('ulla', 'gear.wbpz', 1001, '?overwrite=true'), 413, UPLOAD, over(0));
    expect((await upload('anna', 'gear.wbpz', 800, '?overwrite=true&encrypt=true')).status).toBe(204);
    expect((await upload('ulla', 'other.wbpz', 1000)).status).toBe(204);
    expectError(await upload('anna', 'more.wbpz', 201), 413, UPLOAD, over(800));
  });

  it('is free again for what was deleted or has expired', async () => {
    await upload('ulla', 'a.wbpz', 600);
    await upload('ulla', 'b.wbpz', 400);
    await as.anna.delete(`${INPUT}/a.wbpz/delete`);
    expect((await upload('ulla', 'c.wbpz', 600)).status).toBe(204);
    expectError(await upload('ulla', 'd.wbpz', 1), 413, UPLOAD, over(1000));
    runtime.skip(HOUR_MS);
    expect((await upload('ulla', 'd.wbpz', 1000)).status).toBe(204);
  });
});

describe('a resumable upload', () => {
  const UPLOADS = '/api/x/storage/input/uploads';
  const TUS = { 'tus-resumable': '1.0.0' };
  const PART = { ...TUS, 'content-type': 'application/offset+octet-stream', 'upload-offset': '0' };
  const ABSENT = 'there is no such upload of yours, or it has expired; begin another';
  const begin = (who: keyof typeof USERS) =>
    as[who].call('POST', UPLOADS, {
      headers: {
        ...TUS,
        'upload-length': '10',
        'upload-metadata': `filename ${Buffer.from('gear.wbpz').toString('base64')}`,
      },
    });
  beforeEach(() => start({}));

  it('is that of the user who began it, and to all others it does not exist', async () => {
    const id = (await begin('ulla')).body['id'] as string;
    const path = `${UPLOADS}/${id}`;
    for (const who of ['udo', 'anna'] as const) {
      expectError(await as[who].call('GET', path), 404, path, ABSENT);
      expect((await as[who].call('HEAD', path, { headers: TUS })).status).toBe(404);
      const content = { raw: Buffer.alloc(10), headers: PART };
      expectError(await as[who].call('PATCH', path, content), 404, path, ABSENT);
      expectError(await as[who].call('DELETE', path, { headers: TUS }), 404, path, ABSENT);
      expect((await as[who].get(UPLOADS)).body).toEqual({ uploads: [] });
    }
    expect((await as.ulla.get(UPLOADS)).body['uploads']).toHaveLength(1);
    const own = await as.ulla.call('PATCH', path, { raw: Buffer.alloc(10), headers: PART });
    expect(own.status).toBe(204);
    const { body } = await as.vera.get('/api/x/storage/input');
    expect(body['files']).toEqual([expect.objectContaining({ name: 'gear.wbpz', owner: 'ulla' })]);
  });

  it('is refused to a VIEWER', async () => {
    expectError(await begin('vera'), 403, UPLOADS, 'this requires the role USER; vera has VIEWER');
    expect((await as.vera.get(UPLOADS)).status).toBe(403);
  });

  // Each hub has its own audit log.
  if (HUBS === 1) {
    it('is in the audit log with the name of the file', async () => {
      await begin('ulla');
      const { body } = await as.anna.get('/api/x/audit?user=ulla');
      const entries = Object.values(body).find(Array.isArray) as Record<string, unknown>[];
      expect(entries.find(({ action }) => action === `POST ${UPLOADS}`)).toMatchObject({
        outcome: 'ALLOWED',
        detail: 'gear.wbpz',
      });
    });
  }
});
