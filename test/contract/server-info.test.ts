/** GET /api/2.0/monitoring/server-info: every field of the contract with its type, and no other (contract 9.5). */
import { dirname } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { hub, hubForAllTests } from '../support/hubs/hub-for-tests.js';
import { Api, LOCAL_TIMESTAMP } from '../support/interface/api.js';

const SYSTEM_TEXTS = [
  'version',
  'revision',
  'buildDate',
  'serverTime',
  'uptime',
  'javaVersion',
  'javaVendor',
  'javaVm',
  'javaVmVersion',
  'javaRuntime',
  'javaHome',
  'osName',
  'osArchitecture',
  'osVersion',
  'fileEncoding',
  'userName',
  'userDir',
  'userTimezone',
  'userLocale',
];
const SPACE_NUMBERS = ['total', 'used', 'free', 'freePercentage'];
const SPACE_TEXTS = ['totalFormatted', 'usedFormatted', 'freeFormatted'];

type Part = Record<string, unknown>;

hubForAllTests();

let info: Record<'systemInfo' | 'memoryInfo' | 'diskSpaceInfo', Part>;
beforeAll(async () => {
  const answer = await new Api(hub).get('/api/2.0/monitoring/server-info');
  expect(answer.status).toBe(200);
  info = answer.body as typeof info;
});

const texts = (names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, expect.stringMatching(/./)]));
const numbers = (names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, expect.any(Number)]));

it('server info has every field with its type and no other', () => {
  expect(info).toEqual({
    systemInfo: { ...texts(SYSTEM_TEXTS), inputArguments: expect.any(Array) },
    memoryInfo: { ...numbers([...SPACE_NUMBERS, 'max']), ...texts([...SPACE_TEXTS, 'maxFormatted']) },
    diskSpaceInfo: { ...numbers(SPACE_NUMBERS), ...texts(SPACE_TEXTS) },
  });
});

it('server info describes the actual runtime', () => {
  expect(info.systemInfo).toMatchObject({
    javaVersion: process.versions.node,
    javaVm: 'V8',
    javaVmVersion: process.versions.v8,
    javaHome: dirname(process.execPath),
    userDir: process.cwd(),
    serverTime: expect.stringMatching(LOCAL_TIMESTAMP),
    buildDate: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d{4}$/),
    uptime: expect.stringMatching(/^(\d+ (d|h|min) )*\d+ s$/),
  });
  for (const argument of info.systemInfo['inputArguments'] as unknown[])
    expect(argument).toBeTypeOf('string');
});

it('server info names the same build as info', async () => {
  const { application } = (await new Api(hub).get('/actuator/info')).body as { application: Part };
  const { version, revision, buildDate } = info.systemInfo;
  expect(application).toMatchObject({ version, revision, buildDate });
});

describe.each(['memoryInfo', 'diskSpaceInfo'] as const)('%s', (name) => {
  it('adds up, in whole bytes', () => {
    const space = info[name] as Record<string, number>;
    const { total = 0, used = 0, free = 0, freePercentage } = space;
    for (const field of [...SPACE_NUMBERS, ...(name === 'memoryInfo' ? ['max'] : [])]) {
      expect(Number.isSafeInteger(space[field]), field).toBe(true);
    }
    expect(used + free).toBe(total);
    expect(total).toBeGreaterThan(0);
    expect(freePercentage).toBe(Math.round((free / total) * 100));
    expect(info[name]['totalFormatted']).toMatch(/^\d+(\.\d)? ([KMGTP]i)?B$/);
  });
});
