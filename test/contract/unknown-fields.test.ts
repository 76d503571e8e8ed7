/** Misspelt optional fields of create requests: they are ignored (contract 1.3), and named in the header `Warning` of the 201. */
import { describe, expect, it } from 'vitest';
import { base64 } from '../support/api.js';
import { api, hubForAllTests } from '../support/hub-for-tests.js';

hubForAllTests();

const SIMULATE = '/api/2.0/workbench/task/simulate-work/create';
const BATCH = '/api/2.0/workbench/task/execute-batch-job/create';
const scripts = [{ content: base64('1') }];

async function warningOf(path: string, request: object): Promise<string | null> {
  const answer = await api.post(path, request);
  expect(answer.status, answer.text).toBe(201);
  return answer.headers.get('warning');
}
const ignored = (fields: string) => `299 - "ignored request fields that the hub does not know: ${fields}"`;

describe('the header Warning of a create request', () => {
  it('is absent without unknown fields', async () => {
    expect(await warningOf(SIMULATE, { duration: 0, name: null, timeLimit: 5 })).toBeNull();
    const file = { filename: 'a', content: base64('a') };
    expect(await warningOf(BATCH, { inputScripts: scripts, additionalFiles: [file] })).toBeNull();
  });

  it.each(['1.0', '1.1', '2.0'])(
    'names a misspelt field with its likely spelling, in %s',
    async (version) => {
      const path = SIMULATE.replace('2.0', version);
      expect(await warningOf(path, { duration: 0, timeLimt: 5 })).toBe(
        ignored('timeLimt (did you mean timeLimit?)'),
      );
    },
  );

  it('names fields of lists and objects once each, with where they first are', async () => {
    const request = {
      inputScripts: scripts,
      classifier: [],
      inputModel: { type: 'MJCF', content: base64('m'), size: 1 },
      additionalFiles: [
        { filename: 'a', content: base64('a') },
        { filename: 'b', Content: base64('secret'), storagename: null, content: base64('b') },
        { filename: 'c', Content: base64('secret'), content: base64('c') },
      ],
    };
    expect(await warningOf(BATCH, request)).toBe(
      ignored(
        'classifier (did you mean classifiers?), inputModel.size, ' +
          'additionalFiles[1].Content (did you mean content?), ' +
          'additionalFiles[1].storagename (did you mean storageName?)',
      ),
    );
  });

  it('names five fields, and none that is long or has unusual characters', async () => {
    const unknown = { a1: 'secret', a2: 1, 'x\r\nSet-Cookie: y': 1, 'gr"ün': 1, a3: 1, a4: 1, a5: 1, a6: 1 };
    const warning = await warningOf(SIMULATE, { duration: 0, ...unknown, [`wbh_${'s'.repeat(60)}`]: 1 });
    expect(warning).toBe(ignored('a1, a2, a3, a4, a5 and 4 more'));
    expect(await warningOf(SIMULATE, { duration: 0, 'ü ü': 1 })).toBe(ignored('1 with an unusual name'));
  });

  it('is left out of a refusal', async () => {
    const answer = await api.post(SIMULATE, { duratio: 0 });
    expect([answer.status, answer.headers.get('warning')]).toEqual([400, null]);
  });
});
