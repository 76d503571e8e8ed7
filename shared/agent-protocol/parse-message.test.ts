import { describe, expect, it } from 'vitest';
import { ValidationError } from '../validation-error.js';
import { parseAgentMessage, parseHubMessage } from './parse-message.js';

const REF = { taskId: '019c0000-0000-7000-8000-000000000001', attempt: 1, instanceId: 'sim-1' };
const FILE = { path: 'a.txt', digest: 'd'.repeat(64), sizeBytes: 3 };
const ASSIGN = {
  type: 'assign',
  ref: REF,
  timeLimitMs: null,
  job: { type: 'SIMULATE_WORK', durationS: 5 },
};
const ACKNOWLEDGED = { type: 'acknowledged', ref: REF, counted: true };
const REPORT = { ...REF, outcome: 'OK', message: null, outputFiles: [], log: null };
const report = (change: object) => ({ type: 'report', report: { ...REPORT, ...change } });

const HELLO = {
  type: 'hello',
  protocolVersions: [1],
  agent: { id: 'host-1', nodeId: '0c0e5e0e-0000-4000-8000-000000000001', version: '2', revision: 'abc' },
  ...{ instances: [], running: [], spooled: [] },
};

describe('the installation of an agent', () => {
  const saying = (installation: unknown) => ({ ...HELLO, agent: { ...HELLO.agent, installation } });

  it.each([{}, { kind: 'FILE', os: 'windows', arch: 'x64' }, { kind: 'OF_A_LATER_VERSION', os: 'haiku' }])(
    'is taken as it is told, also by later versions: %j',
    (installation) => expect(parseAgentMessage(saying(installation))).toEqual(saying(installation)),
  );

  it('is left out by older agents', () => expect(parseAgentMessage(HELLO)).toEqual(HELLO));

  it('is bounded', () => {
    expect(() => parseAgentMessage(saying({ os: 'x'.repeat(201) }))).toThrow(
      expect.objectContaining({ path: 'agent.installation.os' }),
    );
  });
});

describe('a frequent message', () => {
  it.each([
    ASSIGN,
    { ...ASSIGN, timeLimitMs: 1000, requestId: 'build-1', traceContext: '00-1' },
    ACKNOWLEDGED,
  ])('is parsed from a hub unchanged: %j', (message) => expect(parseHubMessage(message)).toEqual(message));

  it.each([
    report({}),
    report({ outcome: 'RETURNED', message: 'the disk is full', hostFault: true }),
    report({ outputFiles: [FILE], storedFiles: [FILE], log: { digest: FILE.digest, sizeBytes: 3 } }),
  ])('is parsed from an agent unchanged: %j', (message) =>
    expect(parseAgentMessage(message)).toEqual(message),
  );

  it('is parsed without unknown fields, at any depth', () => {
    const more = { encrypted: true, fieldOfTheFuture: 1 };
    const said = { ...more, ...report({ ...more, outputFiles: [{ ...FILE, ...more }] }) };
    expect(parseAgentMessage(said)).toEqual(report({ outputFiles: [FILE] }));
    expect(parseHubMessage({ ...ACKNOWLEDGED, ...more, ref: { ...REF, ...more } })).toEqual(ACKNOWLEDGED);
    expect(parseHubMessage({ ...ASSIGN, ...more, job: { ...ASSIGN.job, ...more } })).toEqual(ASSIGN);
  });

  it.each([
    [{ ...ASSIGN, ref: undefined }, 'ref'],
    [{ ...ASSIGN, ref: [] }, 'ref'],
    [{ ...ASSIGN, ref: { ...REF, taskId: 'task-1' } }, 'ref.taskId'],
    [{ ...ASSIGN, ref: { ...REF, attempt: 0 } }, 'ref.attempt'],
    [{ ...ASSIGN, ref: { ...REF, attempt: 1.5 } }, 'ref.attempt'],
    [{ ...ASSIGN, ref: { ...REF, instanceId: '' } }, 'ref.instanceId'],
    [{ ...ASSIGN, ref: { ...REF, instanceId: 'a b' } }, 'ref.instanceId'],
    [{ ...ASSIGN, ref: { ...REF, instanceId: 'x'.repeat(201) } }, 'ref.instanceId'],
    [{ ...ASSIGN, timeLimitMs: 0 }, 'timeLimitMs'],
    [{ ...ASSIGN, timeLimitMs: undefined }, 'timeLimitMs'],
    [{ ...ASSIGN, requestId: 'x'.repeat(201) }, 'requestId'],
    [{ ...ASSIGN, traceContext: null }, 'traceContext'],
    [{ ...ASSIGN, job: null }, 'job'],
    [{ ...ASSIGN, job: { type: 'DANCE' } }, 'job.type'],
    [{ ...ASSIGN, job: { type: 'SIMULATE_WORK', durationS: -1 } }, 'job.durationS'],
    [{ ...ASSIGN, job: { type: 'EXECUTE_BATCH_JOB', model: null, scripts: [] } }, 'job.scripts'],
    [{ ...ACKNOWLEDGED, counted: 'yes' }, 'counted'],
  ])('is refused from a hub with the place of the error: %j', (message, path) => {
    expect(() => parseHubMessage(message)).toThrow(ValidationError);
    expect(() => parseHubMessage(message)).toThrow(expect.objectContaining({ path }));
  });

  it.each([
    [{ type: 'report' }, 'report'],
    [report({ taskId: 1 }), 'report.taskId'],
    [report({ outcome: 'FINE' }), 'report.outcome'],
    [report({ message: 'x'.repeat(10_001) }), 'report.message'],
    [report({ message: undefined }), 'report.message'],
    [report({ hostFault: 1 }), 'report.hostFault'],
    [report({ outputFiles: {} }), 'report.outputFiles'],
    [report({ outputFiles: [{ ...FILE, path: '../a' }] }), 'report.outputFiles.0.path'],
    [report({ log: { digest: 'd', sizeBytes: 1 } }), 'report.log.digest'],
    [report({ storedFiles: [{ ...FILE, path: 'a/b' }] }), 'report.storedFiles.0'],
  ])('is refused from an agent with the place of the error: %j', (message, path) => {
    expect(() => parseAgentMessage(message)).toThrow(ValidationError);
    expect(() => parseAgentMessage(message)).toThrow(expect.objectContaining({ path }));
  });
});
