/** POST /api/2.0/workbench/task/simulate-work/create (contract 2.2 and 2.6). */
import { describe, expect, it } from 'vitest';
import { api, hubForAllTests } from '../support/hubs/hub-for-tests.js';
import { expectError, LOCAL_TIMESTAMP } from '../support/interface/api.js';

const PATH = '/api/2.0/workbench/task/simulate-work/create';
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

hubForAllTests();

describe('a good simulate-work request', () => {
  it('is answered with 201, status, id and time, and nothing else', async () => {
    const answer = await api.post(PATH, { duration: 5 });
    expect(answer.status).toBe(201);
    expect(answer.headers.get('content-type')).toBe('application/json');
    expect(answer.body).toEqual({
      status: 'WAITING',
      id: expect.stringMatching(UUID_V7),
      requestedDatetime: expect.stringMatching(LOCAL_TIMESTAMP),
    });
    const written = Date.parse(answer.body['requestedDatetime'] as string);
    expect(Math.abs(Date.now() - written)).toBeLessThan(60_000);
  });

  it.each([
    ['shortest', { duration: 0 }],
    ['longest', { duration: 2_592_000 }],
    ['with a name', { duration: 1, name: '' }],
    ['with the longest name', { duration: 1, name: 'ü'.repeat(1000) }],
    ['with no classifiers', { duration: 1, classifiers: [] }],
    ['with a time limit', { duration: 1, timeLimit: 1 }],
    ['with a very long time limit', { duration: 1, timeLimit: 9_007_199_254_740_991 }],
    ['with unknown fields', { duration: 1, color: 'red', nested: { a: [1] } }],
    ['with null for what may be left out', { duration: 1, name: null, classifiers: null, timeLimit: null }],
    [
      'with classifiers',
      {
        duration: 1,
        classifiers: [
          { type: 'VERSION', value: '9.*' },
          { type: 'PRIORITY', value: 'LOWEST' },
          { type: 'LABLES', value: 'a, b' },
          { type: 'LABLES', value: 'c' },
        ],
      },
    ],
  ])('may be %s', async (_, request) => {
    const answer = await api.post(PATH, request);
    expect(answer.status, answer.text).toBe(201);
  });

  it.each([
    ['application/json; charset=utf-8', {}],
    ['text/plain', {}],
    ['none', { 'content-type': '' }],
  ])('is read as JSON whatever its content type says: %s', async (contentType, headers) => {
    const answer = await api.call('POST', PATH, {
      raw: '\ufeff {"duration": 1}\n',
      headers: { 'content-type': contentType, ...headers },
    });
    expect(answer.status, answer.text).toBe(201);
  });

  it('may arrive in chunks without a Content-Length', async () => {
    const text = Buffer.from('\ufeff{"duration": 1, "name": "größe"}');
    const raw = new ReadableStream({
      start(controller) {
        for (const byte of text) controller.enqueue(Uint8Array.of(byte));
        controller.close();
      },
    });
    const answer = await api.call('POST', PATH, { raw });
    expect(answer.status, answer.text).toBe(201);
    expect(await api.task(answer.body['id'] as string)).toMatchObject({ name: 'größe' });
  });

  it('shows classifiers as given, and enumerations as the interface writes them', async () => {
    const id = await api.simulateWork({
      classifiers: [
        { type: 'version', value: '9.*' },
        { type: 'Priority', value: 'high' },
        { type: 'LABELS', value: 'Linux, gears' },
        { type: 'labels', value: 'x' },
        { type: 'lables', value: 'y' },
      ],
    });
    expect(await api.task(id)).toMatchObject({
      priority: 'HIGH',
      classifiers: [
        { type: 'VERSION', value: '9.*' },
        { type: 'PRIORITY', value: 'HIGH' },
        { type: 'LABLES', value: 'Linux, gears' },
        { type: 'LABLES', value: 'x' },
        { type: 'LABLES', value: 'y' },
      ],
    });
  });
});

describe('a bad request is answered with 400, the field and what is allowed', () => {
  const types = 'must be one of VERSION, PRIORITY, LABLES';
  const classifier = (type: unknown, value: unknown) => ({ duration: 1, classifiers: [{ type, value }] });

  it.each<[string, unknown, string]>([
    ['no duration', {}, 'duration: is required'],
    ['null', { duration: null }, 'duration: must be a number'],
    ['a text', { duration: '5' }, 'duration: must be a number'],
    ['true', { duration: true }, 'duration: must be a number'],
    ['a list', { duration: [5] }, 'duration: must be a number'],
    ['a fraction', { duration: 1.5 }, 'duration: must be a whole number'],
    ['a negative number', { duration: -1 }, 'duration: must be at least 0'],
    ['too long', { duration: 2_592_001 }, 'duration: must be at most 2592000'],
    ['a name that is none', { duration: 1, name: 7 }, 'name: must be a text'],
    [
      'a name too long',
      { duration: 1, name: 'x'.repeat(1001) },
      'name: must be at most 1000 characters long',
    ],
    ['a time limit of 0', { duration: 1, timeLimit: 0 }, 'timeLimit: must be at least 1'],
    ['a fraction of a limit', { duration: 1, timeLimit: 0.5 }, 'timeLimit: must be a whole number'],
    ['a limit as text', { duration: 1, timeLimit: '5' }, 'timeLimit: must be a number'],
    ['classifiers that are no list', { duration: 1, classifiers: {} }, 'classifiers: must be a list'],
    ['a classifier that is none', { duration: 1, classifiers: ['9'] }, 'classifiers[0]: must be an object'],
    ['an unknown classifier', classifier('COLOR', 'red'), `classifiers[0].type: ${types}`],
    ['a classifier without type', classifier(undefined, 'red'), `classifiers[0].type: is required`],
    ['a classifier type of no text', classifier(5, 'red'), `classifiers[0].type: ${types}`],
    ['a classifier without value', classifier('VERSION', undefined), 'classifiers[0].value: is required'],
    ['a classifier value of no text', classifier('VERSION', 9), 'classifiers[0].value: must be a text'],
    [
      'an unknown priority',
      classifier('PRIORITY', 'URGENT'),
      'classifiers[0].value: must be one of HIGHEST, HIGH, NORMAL, LOW, LOWEST',
    ],
    ['an empty version', classifier('VERSION', ' '), 'classifiers[0].value: must name a version'],
    ['no label', classifier('LABLES', ' , '), 'classifiers[0].value: must name at least one label'],
    [
      'two versions',
      {
        duration: 1,
        classifiers: [
          { type: 'VERSION', value: '8' },
          { type: 'LABLES', value: 'a' },
          { type: 'version', value: '9' },
        ],
      },
      'classifiers[2].type: VERSION is given more than once',
    ],
    [
      'two priorities',
      {
        duration: 1,
        classifiers: [
          { type: 'PRIORITY', value: 'LOW' },
          { type: 'PRIORITY', value: 'LOW' },
        ],
      },
      'classifiers[1].type: PRIORITY is given more than once',
    ],
    [
      'several faults',
      { name: 7, timeLimit: 0 },
      'name: must be a text; timeLimit: must be at least 1; duration: is required',
    ],
    ['a list', [], 'body: must be an object'],
    ['a number', 5, 'body: must be an object'],
    ['null as a whole', null, 'body: must be an object'],
  ])('%s', async (_, request, message) => {
    expectError(await api.post(PATH, request), 400, PATH, message);
  });

  it.each<[string, string | Uint8Array | undefined, string | RegExp]>([
    ['no body', undefined, 'body: is required, as JSON'],
    ['an empty body', '', 'body: is required, as JSON'],
    ['white space', ' \n', 'body: is required, as JSON'],
    ['no JSON', '{"duration": 5', /^body: is not JSON: /],
    ['two values', '{"duration": 5} {}', /^body: is not JSON: /],
    ['a form', 'duration=5', /^body: is not JSON: /],
    [
      'no UTF-8',
      Uint8Array.from(Buffer.from('{"duration":1,"name":"gr\xf6\xdfe"}', 'latin1')),
      /^body: is not JSON: /,
    ],
  ])('%s', async (_, raw, message) => {
    expectError(await api.call('POST', PATH, raw === undefined ? {} : { raw }), 400, PATH, message);
  });

  it('counts the validation errors beyond the tenth', async () => {
    const classifiers = Array.from({ length: 15 }, () => ({ type: 'COLOR', value: 'red' }));
    const answer = await api.post(PATH, { duration: 1, classifiers });
    expectError(answer, 400, PATH, /classifiers\[9\]\.type: must be one of [^;]*; and 5 more$/);
  });

  it('and nothing is created', async () => {
    const count = async () => (await api.get('/api/2.0/workbench/task/list')).body['totalElements'];
    const before = await count();
    await api.post(PATH, { duration: -1 });
    expect(await count()).toBe(before);
  });
});
